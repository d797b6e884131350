// figures_grounded: package figures judges, on the bundle of a report.

package artifact

import "countersign/contracts/figures"

// figuresJudge asks package figures about a bundle.
type figuresJudge struct {
	criterion figures.Criterion
	resolve   figures.Resolver
	bundle    []byte
}

func newFiguresJudge(value string, resolve figures.Resolver) judge {
	criterion, err := figures.ParseCriterion(value)
	if err != nil {
		return undecided{"the value is refused: " + err.Error()}
	}
	if resolve == nil {
		return undecided{"nobody resolves anchors here"}
	}
	return &figuresJudge{criterion: criterion, resolve: resolve}
}

func (*figuresJudge) wants(nth int64) bool { return nth == 0 }

func (j *figuresJudge) see(p part) { j.bundle = p.bundle }

func (j *figuresJudge) verdict(evidence) (bool, string) {
	if j.bundle == nil {
		// Not an ungrounded figure, so that warn does not let it pass.
		return false, "the artifact is no report with figures, a JSON object of body and figures"
	}
	return j.criterion.Judge(j.bundle, j.resolve)
}

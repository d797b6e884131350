// What a dispatch's file may hold: a request or a bare spec, with inline profiles or by catalog.

package main

import (
	"context"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// dispatchFile is a request as it was read; exactly one of inline and catalog is set.
type dispatchFile struct {
	inline  *workflow.DispatchRequest
	catalog *workflow.CatalogRequest
	// bare says that the file was a spec alone.
	bare bool
}

// readDispatch reads a whole request, or a bare spec, which has no member "spec", and holds it to
// the rules that need no server. A worker that is named by agent_id makes it a dispatch by catalog.
func readDispatch(data []byte) (f dispatchFile, err error) {
	if fault := canonjson.Scan(data); fault != nil {
		return f, fault.Refusal()
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return f, contracts.Invalid("$", "must be an object")
	}
	spec, whole := members["spec"]
	if f.bare = !whole; f.bare {
		spec = data
	}
	var request, part any
	if namesAgent(spec) {
		f.catalog = new(workflow.CatalogRequest)
		request, part = f.catalog, &f.catalog.Spec
	} else {
		f.inline = new(workflow.DispatchRequest)
		request, part = f.inline, &f.inline.Spec
	}
	if f.bare {
		request = part
	}
	if err := canonjson.Decode(data, request); err != nil {
		return f, err
	}
	return f, inFile(f.check(), f.bare)
}

func namesAgent(spec []byte) bool {
	var named struct {
		Profile map[string]jsontext.Value `json:"profile"`
	}
	if json.Unmarshal(spec, &named) != nil {
		return false
	}
	_, agent := named.Profile["agent_id"]
	return agent
}

// check validates; a write context that is filled in later need not be there yet.
func (f dispatchFile) check() error {
	later := workflow.WriteContext{Resource: "-", InstanceID: "-"}
	if f.catalog != nil {
		request := *f.catalog
		if request.WriteContext == (workflow.WriteContext{}) {
			request.WriteContext = later
		}
		return workflow.Validate(&request)
	}
	request := *f.inline
	if request.WriteContext == (workflow.WriteContext{}) {
		request.WriteContext = later
	}
	return workflow.Validate(&request)
}

// send dispatches; the client fills in a write context that is missing.
func (f dispatchFile) send(ctx context.Context, r remote) (workflow.Detail, error) {
	if f.catalog != nil {
		if err := checkID("task", f.catalog.Spec.TaskID); err != nil {
			return workflow.Detail{}, err
		}
		return r.DispatchCatalog(ctx, "", *f.catalog)
	}
	if err := checkID("task", f.inline.Spec.TaskID); err != nil {
		return workflow.Detail{}, err
	}
	return r.Dispatch(ctx, "", *f.inline)
}

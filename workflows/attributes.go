// The search attributes a namespace must have before the first revision starts.

package workflows

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
)

// EnsureSearchAttributes registers what is missing of the revision's search attributes in a namespace.
// It may be called by several processes at once.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	service := c.OperatorService()
	have, err := service.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, name := range []string{keyPhase.GetName(), keyTaskID.GetName(), keyProjectID.GetName(), keyNodeID.GetName(), keyPurpose.GetName(), keyReason.GetName()} {
		if _, ok := have.GetCustomAttributes()[name]; !ok {
			missing[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = service.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}

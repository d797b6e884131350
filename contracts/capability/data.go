// The data gate: whether the packet may be given to the provider.

package capability

import "slices"

// domain is the trust domain with every unknown word read as unknown.
func (r Request) domain() TrustDomain {
	if r.ProviderTrustDomain == DomainHostNative || r.ProviderTrustDomain == DomainExternal {
		return r.ProviderTrustDomain
	}
	return DomainUnknown
}

// dataGate asks of a provider outside of the host for a clean packet and all four data
// authorizations, whatever the packet refers to. The host's own is stopped by an explicit missing only.
func dataGate(in Input) []finding {
	four := []Authorization{
		in.Request.RestrictedReadAuthorization, in.Request.DataEgressAuthorization,
		in.Request.CredentialUseAuthorization, in.Request.ExternalCommunicationAuthorization,
	}
	if in.Request.domain() == DomainHostNative {
		if slices.Contains(four, AuthorizationMissing) {
			return []finding{{WorkerDataAuthorizationMissing, "A data authorisation is marked as missing."}}
		}
		return nil
	}
	if slices.ContainsFunc(four, func(a Authorization) bool { return a != Authorized }) {
		return []finding{{WorkerDataAuthorizationMissing,
			"A provider outside of the host needs all four data authorisations, and one is not given."}}
	}
	if p := in.Packet; !p.Minimized || !p.Allowlisted || !p.SecretRedacted {
		return []finding{{WorkerDataAuthorizationMissing,
			"The packet for a provider outside of the host is not minimised, allow-listed and redacted."}}
	}
	return nil
}

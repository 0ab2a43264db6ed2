package policy

// MaxTenant is the longest tenant, in bytes.
const MaxTenant = 128

// ValidTenant tells whether a tenant may be counted by: 1 to MaxTenant of A-Z, a-z, 0-9 and ._:-
func ValidTenant(tenant []byte) bool {
	if len(tenant) == 0 || len(tenant) > MaxTenant {
		return false
	}
	for _, c := range tenant {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

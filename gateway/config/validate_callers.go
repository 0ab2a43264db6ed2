package config

// callers checks who may send. There need not be any.
func (v *validator) callers() {
	seen := v.unique("caller")
	public := offLoopback(v.c.Server.Listen)
	hashes := map[[32]byte]string{}
	for i, c := range v.c.Callers {
		key := index("callers", i)
		if v.required(key+".id", c.ID, "every caller has an id") {
			switch {
			case !validCallerID(c.ID):
				v.add(key+".id", c.ID, "", "an id is 1 to 128 of a-z, A-Z, 0-9, '.', '_', ':', '@' and '-'")
			case c.ID == "other":
				v.add(key+".id", c.ID, "", "the metrics call everyone beyond metrics.max_callers by this name")
			default:
				seen.add(key+".id", c.ID)
			}
		}
		v.text(key+".name", c.Name, 200)
		v.callerRefs(key, c)
		v.refs(key+".semantics", c.Semantics, "semantic", v.semanticNames)
		v.flowRates(key, &v.c.Callers[i])
		for j, k := range c.Keys {
			v.hash(index(key+".keys", j), k, public, "key", hashes)
		}
	}
}

func (v *validator) callerRefs(key string, c Caller) {
	v.ref(key+".plan", c.Plan, "plan", v.planNames)
	v.ref(key+".pool", c.Pool, "pool", v.poolNames)
}

/** The most domains of one exporter, and the most samplers of all of them. */
const MAX_DOMAINS = 256;
const MAX_RATES = 1024;

/** The thing that a sampling rate was reported of. */
export interface SamplerName {
  /** The number of a sampler or selector. */
  readonly sampler: number | null;
  /** The number of an ingress interface; 0 if it was not named. */
  readonly input: number;
}

interface Domain {
  readonly samplers: Map<number, number>;
  readonly interfaces: Map<number, number>;
  /** Rates by scopes that no record names, such as line cards. */
  readonly others: Map<number, number>;
  /** The domain's own. */
  whole: number | undefined;
  /** The rate that all of these have: undefined if they differ, null if it must be looked up again. */
  agreed: number | undefined | null;
}

/**
 * The sampling rates that options data of one exporter reported. A record gets the rate of the sampler that it names,
 * else of its interface, else of its domain, else the one on which all reports of the domain agree, else none. Which
 * report came last decides nothing.
 */
export class SamplingRates {
  readonly #domains = new Map<string, Domain>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** `other`: the scope, if it is neither a sampler, an interface nor the domain. */
  set(key: string, { sampler, input }: SamplerName, other: number | null, rate: number): void {
    const domain = this.#domains.get(key) ?? this.#begin(key);
    if (sampler !== null) this.#put(domain.samplers, sampler, rate);
    else if (input > 0) this.#put(domain.interfaces, input, rate);
    else if (other !== null) this.#put(domain.others, other, rate);
    else domain.whole = rate;
    domain.agreed = null;
  }

  of(key: string, { sampler, input }: SamplerName): number | undefined {
    const domain = this.#domains.get(key);
    if (domain === undefined) return undefined;
    const named = sampler === null ? undefined : domain.samplers.get(sampler);
    const own = named ?? domain.interfaces.get(input) ?? domain.whole;
    if (own !== undefined) return own;
    if (domain.agreed === null) domain.agreed = agreedRate(domain);
    return domain.agreed;
  }

  #begin(key: string): Domain {
    const domain: Domain = {
      samplers: new Map(),
      interfaces: new Map(),
      others: new Map(),
      whole: undefined,
      agreed: undefined,
    };
    if (this.#domains.size >= MAX_DOMAINS) this.#removeOldest();
    this.#domains.set(key, domain);
    this.#size++;
    return domain;
  }

  #put(rates: Map<number, number>, name: number, rate: number): void {
    if (!rates.has(name)) this.#size++;
    rates.set(name, rate);
    // More than any exporter has: the reports are forged, or of domains that are gone.
    if (this.#size > MAX_RATES) this.#removeOldest();
  }

  #removeOldest(): void {
    const [key, domain] = this.#domains.entries().next().value as [string, Domain];
    this.#domains.delete(key);
    this.#size -= 1 + domain.samplers.size + domain.interfaces.size + domain.others.size;
  }
}

function agreedRate({ samplers, interfaces, others }: Domain): number | undefined {
  const rates = new Set([...samplers.values(), ...interfaces.values(), ...others.values()]);
  return rates.size === 1 ? rates.values().next().value : undefined;
}

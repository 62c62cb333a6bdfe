import type { FilterType } from '@portcullis/core/filters/catalogue.ts';
import { fits } from '@portcullis/core/filters/evaluate.ts';
import type { Filter, Opening, Signature, Transport } from '@portcullis/core/filters/filter.ts';
import { MAX_PAYLOAD } from '@portcullis/core/filters/filter.ts';
import type { Flow } from './flows.ts';

/** How many of the payloads of other protocols, and of which. */
export interface Share {
  readonly some: number;
  readonly of: number;
  readonly types: readonly (readonly [type: FilterType, some: number])[];
}

/** The result that a filter makes of the flows of all others on one transport. */
export interface Foreign {
  readonly greets: Share;
  readonly roams: Share;
  /** Replies of servers: null if none validates, or any. */
  readonly validates: Share | null;
}

/** Null if the filter does not have the transport. */
export function foreignOf(
  { type, ...filter }: Filter,
  transport: Transport,
  flows: readonly Flow[],
): Foreign | null {
  const signatures = signaturesOf(filter[transport]);
  if (signatures === null) return null;
  const others = flows.filter((flow) => flow.transport === transport && flow.type !== type);
  const share = (way: Flow['way'], passes: (flow: Flow) => boolean): Share => {
    const all = others.filter((flow) => flow.way === way);
    const some = all.filter(passes);
    const byType = Map.groupBy(some, (flow) => flow.type);
    const types = [...byType].map(([one, { length }]): [FilterType, number] => [one, length]);
    return { some: some.length, of: all.length, types };
  };
  const { greetings, roaming, replies } = signatures;
  const greets = (flow: Flow): boolean => greetings.length === 0 || fitsSome(greetings, flow);
  const roams = (flow: Flow): boolean => !greets(flow) && fitsSome(roaming, flow);
  const validates = (flow: Flow): boolean => replies?.length === 0 || fitsSome(replies ?? [], flow);
  return {
    greets: share('to', greets),
    roams: share('to', roams),
    validates: replies === null ? null : share('from', validates),
  };
}

interface Signatures {
  readonly greetings: readonly Signature[];
  readonly roaming: readonly Signature[];
  readonly replies: readonly Signature[] | null;
}

function signaturesOf(of: Filter['udp'] | Filter['tcp']): Signatures | null {
  if (of === null) return null;
  if ('openings' in of)
    return { greetings: of.openings.map(anyLength), roaming: [], replies: null };
  const { greetings, replies, roaming } = of;
  return { greetings, replies, roaming: (roaming?.kinds ?? []).flatMap(({ packets }) => packets) };
}

function anyLength({ bytes }: Opening): Signature {
  return { bytes, minLength: 0, maxLength: MAX_PAYLOAD };
}

function fitsSome(signatures: readonly Signature[], { length, start }: Flow): boolean {
  const payload = Buffer.alloc(length);
  Buffer.from(start, 'hex').copy(payload);
  return signatures.some((one) => fits(one, payload));
}

import { explainVerdict } from '@portcullis/core/firewall/decide/explain.ts';
import { decide, type Verdict } from '@portcullis/core/firewall/decide/decide.ts';
import { FIRST_PACKET } from '@portcullis/core/firewall/decide/first-packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import type { Db, Tx } from '../../db/database.ts';
import { inSnapshot, loadAddressPolicy } from '../../fleet/policies/policies.ts';
import type { QueryEdges } from '../../fleet/index.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { type DropTotal, loadLastHour } from '../drops/store.ts';
import { changePolicy, withBlockedSet } from './changed-policy.ts';
import { openPort, type PortOpening } from './open-port.ts';
import { ANY_EDGE } from './any-edge.ts';
import { invalid, type PacketRequest, readPacket } from './packet.ts';
import { loadSetsOf, type SourceSetLoader } from './policy-sets.ts';
import { queryServingEdges, differences, type EdgeVerdict } from './edge-verdicts.ts';
import { loadServingEdges } from '../held-store.ts';
import { resolvePorts } from '../named-ports/index.ts';
import { type AddressState, enforcedGeneration } from '../objects.ts';
import { loadAddress } from '../store.ts';

export interface Explained {
  /** From where packets pass, of a request without a source. */
  readonly openTo: PortOpening | null;
  readonly verdict: Verdict;
  /** The verdict as a sentence. */
  readonly explanation: string;
  readonly state: AddressState;
  /** The verdicts of the edges. */
  readonly edges: readonly EdgeVerdict[];
  /** Sentences about differences between the edges and the accepted state. */
  readonly differences: readonly string[];
  /** In the last hour, of all packets to the address. */
  readonly dropped: readonly DropTotal[];
}

export interface ExplainDeps extends SourceSetLoader {
  readonly queryEdges: QueryEdges;
}

const NOTHING_ENFORCED =
  'No edge enforces rules for this address at the moment, so the packet is not dropped, whatever the rules say.';

/**
 * Evaluates the packet with the reference evaluator, over the accepted, live or changed policy, and queries the edges,
 * which evaluate the policies in their kernels. Without a source it says from where packets pass. Throws 404 and 422.
 */
export async function explainPacket(
  deps: ExplainDeps,
  db: Db,
  call: AddressCall,
  request: PacketRequest,
): Promise<Explained> {
  const found = await inSnapshot(db, (tx) => loadExplained(tx, call, request));
  const { state, accepted, policy, port } = found;
  const setsOf = async (of: Policy): Promise<SourceSets> => {
    const generation = of === found.live ? (enforcedGeneration(state) ?? 0) : null;
    const sets = await loadSetsOf(deps, db, of, generation);
    return of === found.changed?.policy ? withBlockedSet(sets, found.changed) : sets;
  };
  const { ip } = call.params;
  const { source_ip: source = null } = request;
  const packet = readPacket(ip, { ...request, source_ip: source ?? ip, destination_port: port });
  const unenforced = state.enforcement === 'none' ? [NOTHING_ENFORCED] : [];
  if (source === null) {
    const open = await openPort({ policy, setsOf, live: found.live, state }, packet);
    const { verdict } = open.open.outcomes[0] ?? assertOutcome();
    return {
      ...found,
      verdict,
      explanation: open.explanation,
      openTo: open,
      edges: [],
      differences: unenforced,
    };
  }
  const evaluate = async (evaluated: Policy): Promise<Verdict> => {
    const policies = createPolicyTable([evaluated]);
    const sourceSets = await setsOf(evaluated);
    return decide({ settings: ANY_EDGE, policies, sourceSets }, packet, FIRST_PACKET);
  };
  const verdict = await evaluate(policy);
  const asked = found.changed === null ? found.edges : [];
  const edges = await queryServingEdges(deps.queryEdges, asked, packet, accepted);
  return {
    verdict,
    explanation: explainVerdict(verdict, policy) + explainName(verdict, state),
    openTo: null,
    state,
    edges,
    differences: [
      ...unenforced,
      ...differences(policy === accepted ? verdict : await evaluate(accepted), edges),
    ],
    dropped: found.dropped,
  };
}

async function loadExplained(tx: Tx, call: AddressCall, request: PacketRequest) {
  const { change = null, view = 'accepted' } = request;
  if (change !== null && view === 'live') throw invalid('/view', 'is accepted with a change');
  const state = await loadAddress(tx, view, call.by, call.params.ip);
  if (state === null) throw notHeld();
  const accepted = await loadAddressPolicy(tx, call.params.ip);
  // Nothing is live while no edge enforces.
  const generation = enforcedGeneration(state) ?? 0;
  const needsLive = view === 'live' || (request.source_ip ?? null) === null;
  const live = needsLive ? await loadAddressPolicy(tx, call.params.ip, { generation }) : null;
  const changed = change === null ? null : await changePolicy(tx, call, state, change);
  return {
    state,
    accepted,
    live,
    changed,
    port: await readPort(tx, call, request),
    policy: changed?.policy ?? (view === 'live' && live !== null ? live : accepted),
    edges: await loadServingEdges(tx, call.params.ip),
    dropped: await loadLastHour(tx, { holdingId: state.holdingId, ip: call.params.ip }),
  };
}

function assertOutcome(): never {
  throw new Error('a port has no outcome');
}

/** The destination port as a number, by its name too; null: none. */
async function readPort(
  tx: Tx,
  call: AddressCall,
  { destination_port: text }: PacketRequest,
): Promise<number | null> {
  if (typeof text !== 'string') return text ?? null;
  const mention = { text, pointer: '/destination_port' };
  const resolved = await resolvePorts(tx, call, [mention]);
  return resolved.get(text)?.port ?? null;
}

function explainName({ ref }: Verdict, state: AddressState): string {
  const name = namedPortOf(ref, state);
  return name === null ? '' : ` Its port is that of ${name}.`;
}

/** The name that the rule behind a ref has for its port. */
export function namedPortOf(ref: string | null, { rules }: AddressState): string | null {
  const rule = rules.find(({ id, group }) => {
    return ref === `${group === null ? 'rule' : 'group-rule'}:${id}`;
  });
  return rule?.namedPort?.shown ?? null;
}

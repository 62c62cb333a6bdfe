import type { EdgeAssignment, Packet } from '@portcullis/core/firewall/packet.ts';
import type { RefusedTarget, Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Verdict } from '@portcullis/core/firewall/decide.ts';
import type { CollectorRequest, CollectorsNotice, CollectorWelcome } from './collector-messages.ts';
import type { EdgeDrops, EdgeReport } from './edge-report.ts';
import type { KernelState } from '@portcullis/core/firewall/edge-state.ts';
import type {
  NewAssignments,
  NodeCall,
  NodePage,
  NodeRequest,
  NodeWelcome,
} from './node-messages.ts';
import type { WatchNotice, WatchRequest, WatchSettings } from './watch-messages.ts';

/**
 * The messages between control and its edges; those with nodes stand in `node-messages.ts`,
 * those about attacks in `watch-messages.ts`, those with collectors in `collector-messages.ts`. An agent one version behind still works:
 * fields are only added, unknown fields are ignored, unknown kinds are answered with `unsupported`.
 */
export const PROTOCOL_VERSION = 1;
export const OLDEST_PROTOCOL_VERSION = 1;

/** Who speaks. The transport vouches for it: see `Admit` in `transport.ts`. */
export interface AgentRef {
  readonly kind: 'edge' | 'node' | 'collector';
  readonly name: string;
}

/** Each kind of agent speaks only its own messages; another's are answered with `unsupported`. */
export type AgentRequest = EdgeRequest | NodeRequest | CollectorRequest;

export function isOfNode(request: AgentRequest): request is NodeRequest {
  return request.kind.startsWith('node.');
}

/** An edge asks; control answers. All are idempotent, so an agent may repeat what was not answered. */
export type EdgeRequest =
  | EdgeHello
  | EdgeSync
  | EdgeConfirm
  | EdgeHeartbeat
  | EdgeDropReport
  | EdgeAnswer
  | WatchRequest;

/** First message on every connection. A new `instance` (a restarted agent) must resync before it counts. */
export interface EdgeHello {
  readonly kind: 'edge.hello';
  readonly protocolVersion: number;
  /** Random for each start of the agent. */
  readonly instance: string;
  /** `observe` renders and checks, and never counts for live. */
  readonly mode: EdgeMode;
  /** Why an edge asked to enforce only observes, in words; null when it does what was asked. */
  readonly modeReason: string | null;
}
export type EdgeMode = 'enforce' | 'observe';

/** Asks for what changed after `after`; 0 and a null cursor ask for everything. */
export interface EdgeSync {
  readonly kind: 'edge.sync';
  readonly instance: string;
  /** The newest generation that this instance holds whole; 0: nothing. */
  readonly after: number;
  /** `next` of the page before this one; null begins. */
  readonly cursor: string | null;
  /** Version of the source sets the edge holds; null: none. */
  readonly sourceSetsVersion: string | null;
}

/** The kernel has `generation`, but for the refused targets, which stay at their last good one. */
export interface EdgeConfirm {
  readonly kind: 'edge.confirm';
  readonly instance: string;
  readonly generation: number;
  readonly refused: readonly RefusedTarget[];
}

/** Every `heartbeatMs`. Renews the lease, and reports. */
export interface EdgeHeartbeat {
  readonly kind: 'edge.heartbeat';
  readonly instance: string;
  readonly mode: EdgeMode;
  readonly modeReason: string | null;
  readonly generation: number;
  readonly report: EdgeReport;
}

/**
 * What was dropped since the last report that was answered. A repeated `sequence` of an instance is counted once;
 * the same sequence is sent until it is answered. A control plane one version behind answers `unsupported`.
 */
export interface EdgeDropReport {
  readonly kind: 'edge.drops';
  readonly instance: string;
  /** From 1 on, for each instance. */
  readonly sequence: number;
  /** What the edge's clock showed when this was sent; tells control how far that clock is off. */
  readonly atMs: number;
  readonly drops: EdgeDrops;
}

/** Answers a `Question`. */
export interface EdgeAnswer {
  readonly kind: 'edge.answer';
  readonly instance: string;
  readonly id: string;
  readonly answer: LiveVerdict;
}
/** What an edge does with a packet, by the policy that its kernel was given last. */
export interface LiveVerdict {
  readonly mode: EdgeMode;
  /** Of the policy that judged. */
  readonly generation: number;
  readonly verdict: Verdict;
  /** The same in words. */
  readonly explanation: string;
  /** Whose policy judged: the destination's or that of a prefix around it; null: no policy covers it. */
  readonly target: string | null;
  /** Of that policy (fingerprint.ts), so that control can tell whether it is the accepted one. */
  readonly fingerprint: string | null;
  readonly kernel: KernelState;
}

export type ControlReply =
  | EdgeWelcome
  | EdgePage
  | WatchSettings
  | NodeWelcome
  | NodePage
  | Done
  | Refused
  | CollectorWelcome;

export interface EdgeWelcome {
  readonly kind: 'edge.welcome';
  readonly protocolVersion: number;
  readonly generation: number;
  readonly settings: EdgeAssignment;
  readonly heartbeatMs: number;
  readonly resyncMs: number;
}

/**
 * One page of a sync. All pages of one sync are read at one `generation`.
 * `whole` : the policies are all there are (drop what is not named). Otherwise `removed` names what is gone.
 * An edge applies nothing before the last page (`next` is null).
 */
export interface EdgePage {
  readonly kind: 'edge.page';
  readonly generation: number;
  readonly whole: boolean;
  readonly policies: readonly Policy[];
  readonly removed: readonly string[];
  /**
   * Only when the edge holds another version or other sets are needed; else null. May come in parts over several
   * pages: equal names in one sync are joined, for all countries together are larger than a message.
   */
  readonly sourceSets: SourceSets | null;
  /** The operator's settings for this edge as of this generation. */
  readonly settings: EdgeAssignment;
  readonly next: string | null;
}

export interface Done {
  readonly kind: 'done';
}

/** `resync`: begin again with hello and a whole sync. `unknown_agent`: no such edge in the fleet. */
export interface Refused {
  readonly kind: 'refused';
  readonly code: 'resync' | 'unknown_agent' | 'unsupported' | 'stale' | 'unavailable';
  readonly detail: string;
}

/**
 * Control to agents. Losing one loses nothing: a timer asks anyway, or control goes without the answer. Only those
 * hear it whom it is for (`isFor`): a call to a node holds what an organisation types into its server.
 */
export type Notice =
  | NewGeneration
  | Question
  | WatchNotice
  | NewAssignments
  | NodeCall
  | CollectorsNotice;

export function isFor(notice: Notice, agent: AgentRef): boolean {
  switch (notice.kind) {
    case 'generation':
      return agent.kind === 'edge';
    case 'question':
      return agent.kind === 'edge' && notice.edges.includes(agent.name);
    case 'watch':
      return agent.kind !== 'node';
    case 'collectors':
      return agent.kind === 'collector';
    case 'node.assignments':
      return agent.kind === 'node' && notice.nodes.includes(agent.name);
    case 'node.call':
      return agent.kind === 'node' && notice.node === agent.name;
    default:
      return false;
  }
}

/** A hint that saves waiting for the timer. */
export interface NewGeneration {
  readonly kind: 'generation';
  readonly generation: number;
}

/** Control wants to know something now; who is named answers with `edge.answer`, if it can in time. */
export interface Question {
  readonly kind: 'question';
  /** Random: an answer names it. */
  readonly id: string;
  /** Names of the edges that are asked; nobody else answers. */
  readonly edges: readonly string[];
  /** How long control waits. */
  readonly withinMs: number;
  readonly packet: Packet;
}

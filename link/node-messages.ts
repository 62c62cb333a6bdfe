import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type {
  PowerSignal,
  ServerAssignment,
  ServerResources,
  ServerState,
} from '@portcullis/core/game-servers/power.ts';

/** A node asks; control answers. All are idempotent. Control takes nothing about servers of another node. */
export type NodeRequest = NodeHello | NodeSync | NodeHeartbeat | NodeAnswer;

/** First message on every connection. */
export interface NodeHello {
  readonly kind: 'node.hello';
  readonly protocolVersion: number;
  readonly instance: string;
}

/** Asks for all servers of this node, in pages. */
export interface NodeSync {
  readonly kind: 'node.sync';
  readonly instance: string;
  readonly cursor: string | null;
  /** The revision that the node has on disk; null: none. The same answers with one empty page. */
  readonly revision: string | null;
}

/** Every `heartbeatMs`, and at once when a build changes. `builds` names every server of the node. */
export interface NodeHeartbeat {
  readonly kind: 'node.heartbeat';
  readonly instance: string;
  readonly engine: NodeEngine;
  readonly builds: readonly ServerBuild[];
}
export interface NodeEngine {
  readonly kind: 'docker' | 'process' | 'fake';
  /** null: it does not answer; `problem` says why. */
  readonly version: string | null;
  readonly problem: string | null;
}
export interface ServerBuild {
  readonly uuid: string;
  readonly epoch: number;
  readonly state: 'waiting' | 'building' | 'built' | 'failed';
  /** Why it failed or waits, in words. */
  readonly reason: string | null;
  /** The last lines of the install's output; only for `failed`. */
  readonly log: string | null;
  readonly power: ServerState;
}

/** Answers a `NodeCall`. */
export interface NodeAnswer {
  readonly kind: 'node.answer';
  readonly instance: string;
  readonly id: string;
  readonly answer: CallAnswer;
}
export type CallAnswer =
  /** `resources`: null where something runs, or lies there, that was not measured yet. */
  | {
      readonly kind: 'state';
      readonly state: ServerState;
      readonly resources: ServerResources | null;
      /** What people should know of it, such as why its start failed. */
      readonly problem: string | null;
    }
  | { readonly kind: 'accepted' }
  /** `reason` is a sentence for the caller. */
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'lines';
      readonly lines: readonly string[];
      /** Of the last line; see `ServerConsole.lastNumber`. null: of a node that does not count. */
      readonly lastNumber: number | null;
    };

export interface NodeWelcome {
  readonly kind: 'node.welcome';
  readonly protocolVersion: number;
  readonly heartbeatMs: number;
  readonly resyncMs: number;
}

/** One page of a sync. A node acts on nothing before the last one (`next` is null). */
export interface NodePage {
  readonly kind: 'node.page';
  readonly revision: string;
  /** Nothing changed since the revision that was asked with; the page is empty. */
  readonly unchanged: boolean;
  readonly servers: readonly ServerAssignment[];
  /** By digest: those that the servers of this page name and no page before it carried. */
  readonly eggs: Readonly<Record<string, Egg>>;
  readonly next: string | null;
}

/** A hint: servers of these nodes changed. */
export interface NewAssignments {
  readonly kind: 'node.assignments';
  readonly nodes: readonly string[];
}

/** Control wants something done or told now; the node that is named answers with `node.answer`, if in time. */
export interface NodeCall {
  readonly kind: 'node.call';
  readonly id: string;
  readonly node: string;
  /** How long control waits; a node that could only begin later does not begin. */
  readonly withinMs: number;
  readonly uuid: string;
  readonly call:
    | { readonly kind: 'look' }
    | { readonly kind: 'power'; readonly signal: PowerSignal }
    | { readonly kind: 'command'; readonly command: string }
    | { readonly kind: 'lines'; readonly last: number };
}

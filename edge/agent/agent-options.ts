import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { EdgeMode } from '@portcullis/link/messages.ts';
import type { AgentSide } from '@portcullis/link/transport.ts';
import type { DeniedFlows } from '@portcullis/dataplane/connections/denied-flows.ts';
import type { FilterKeeper } from '@portcullis/dataplane/filters/keeper.ts';
import type { WatchLinks } from '../repair/guard.ts';
import type { Host } from '../host/host.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { EdgeLimits } from '@portcullis/dataplane/nftables/table/base-chain.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import type { LearntMemory } from '@portcullis/dataplane/nftables/elements/learnt-memory.ts';
import type { Reassembly } from '../host/reassembly.ts';
import type { EdgeFacts } from '../report/report.ts';
import type { MachineClock } from '../switch/machine-clock.ts';
import type { EdgeWatch } from '../detection/watch.ts';
import type { EarlyDrop } from '@portcullis/dataplane/xdp/early-drop.ts';

export interface EdgeAgentOptions {
  readonly link: AgentSide;
  readonly driver: Driver;
  readonly host: Host;
  /** Markers of hands-off.ts live here, and what was last enforced. */
  readonly stateDir: string;
  readonly log: Log;
  /** What is asked for. `enforce` becomes `observe` where this host cannot or must not. */
  readonly mode: EdgeMode;
  /** Enforcing is on trial for so long from the first write on; null: not on trial. */
  readonly confirmWithinMs?: number | null;
  /** What this host needs beside the operator's list: the listeners of a control plane on it. */
  readonly management?: readonly ManagementPort[];
  readonly limits?: EdgeLimits;
  /** Gives the kernel's reassembly its memory; absent: it is left alone. */
  readonly reassembly?: Reassembly;
  /** Drops in front of nftables; absent: nftables alone. */
  readonly earlyDrop?: EarlyDrop;
  /** What other parts of this host's edge know, for reports. */
  readonly facts?: EdgeFacts;
  /** What filters need beside the table; absent: only the table. */
  readonly filters?: FilterKeeper;
  /** Has connection tracking forget what rules deny; absent: it goes on knowing it. */
  readonly deniedFlows?: DeniedFlows;
  /** Remembers what filters learn, for when others delete the table; absent: it is learnt anew then. */
  readonly memory?: LearntMemory;
  /** Tells of devices that come, go and are renamed; absent: they are not followed. */
  readonly watchLinks?: WatchLinks;
  /** Detects attacks; absent: this edge counts no traffic. */
  readonly watch?: EdgeWatch;
  readonly clock?: () => Date;
  /** Trials end by it. */
  readonly machineClock?: MachineClock;
  /** How often markers on disk are looked at. */
  readonly watchMs?: number;
}

export interface AgentStatus {
  readonly mode: EdgeMode;
  readonly reason: string | null;
  /** The newest generation that the kernel has (when observing: that was checked). */
  readonly generation: number;
  readonly lastError: string | null;
}

export interface EdgeAgent {
  /** Resolves as soon as the mode is known; control need not be there. */
  start(): Promise<AgentStatus>;
  /** Leaves the table enforcing: stopping an agent opens no window. */
  stop(): Promise<void>;
  status(): AgentStatus;
}

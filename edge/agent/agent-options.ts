import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import type { DeniedFlows } from '@portcullis/dataplane/connections/denied-flows.ts';
import type { FilterSupervisor } from '@portcullis/dataplane/filters/supervisor.ts';
import type { WatchLinks } from '../repair/guard.ts';
import type { Host } from '../host/host.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { EdgeLimits } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import type { DeniedFlowFile } from '../state/denied-flow-file.ts';
import type { Reassembly } from '../host/reassembly.ts';
import type { EdgeFacts } from '../report/report.ts';
import type { RequestedMode } from '../switch/mode.ts';
import type { MachineClock } from '../switch/machine-clock.ts';
import type { EdgeWatch } from '../detection/watch.ts';
import type { PassedSampler } from '@portcullis/dataplane/passed/sampler.ts';
import type { EarlyDrop } from '@portcullis/dataplane/xdp/early-drop.ts';

export interface EdgeAgentOptions {
  readonly link: AgentSide;
  readonly driver: Driver;
  readonly host: Host;
  /** Holds the markers of switch-files.ts and the last enforced state. */
  readonly stateDir: string;
  readonly log: Log;
  /** `enforce` becomes `observe` where this host cannot enforce or is disabled. */
  readonly mode: RequestedMode;
  /** The duration of a trial, from the first write on. Null means no trial. */
  readonly confirmWithinMs?: number | null;
  /** Management ports beyond the operator's list: the listeners of a control plane on this host. */
  readonly management?: readonly ManagementPort[];
  readonly limits?: EdgeLimits;
  /** Sets the memory limits of reassembly. Absent: they stay as they are. */
  readonly reassembly?: Reassembly;
  /** Drops packets before nftables. Absent: nftables alone. */
  readonly earlyDrop?: EarlyDrop;
  /** Samples what passes. Absent: nothing is sampled. */
  readonly passed?: PassedSampler;
  /** Facts of other parts for heartbeats. */
  readonly facts?: EdgeFacts;
  /** Kernel settings and probes that filters need beyond the table. Absent: only the table. */
  readonly filters?: FilterSupervisor;
  /** Removes conntrack entries of flows that rules deny. Absent: they stay. */
  readonly deniedFlows?: DeniedFlows;
  /** Denied flows for a table that another program deleted. Absent: they pass then. */
  readonly deniedFlowFile?: Pick<DeniedFlowFile, 'recall'>;
  /** Reports devices that appear, disappear or are renamed. Absent: renames are not followed. */
  readonly watchLinks?: WatchLinks;
  /** Detects attacks; absent: this edge counts no traffic. */
  readonly watch?: EdgeWatch;
  readonly clock?: () => Date;
  /** Times trials. */
  readonly machineClock?: MachineClock;
  /** The poll interval of the marker files. */
  readonly watchMs?: number;
}

export interface AgentStatus {
  readonly mode: EdgeMode;
  readonly reason: string | null;
  /** The newest generation in the kernel; of an observing edge, the newest that was checked. */
  readonly generation: number;
  readonly lastError: string | null;
  /** Enforcement was confirmed: `confirmWithinMs` begins no trial. */
  readonly isConfirmed: boolean;
}

export interface EdgeAgent {
  /** Resolves as soon as the mode is known; needs no connection to control. */
  start(): Promise<AgentStatus>;
  /** The table stays in the kernel: stopping the agent opens nothing. */
  stop(): Promise<void>;
  /** The ports of this host itself that no rule may close, beyond the operator's list. */
  setManagement(ports: readonly ManagementPort[]): void;
  status(): AgentStatus;
}

import { totalmem } from 'node:os';
import { join } from 'node:path';
import { fitToMemory } from '@portcullis/core/firewall/fragment-limits.ts';
import { whenSupervisorGone } from '@portcullis/link/supervisor.ts';
import { renewCredentials } from '@portcullis/agent/renewal.ts';
import { connectControl } from '@portcullis/link/transport/connect.ts';
import { lockState, StateInUse } from '@portcullis/agent/state-lock.ts';
import { createEdgeAgent } from './agent/agent.ts';
import {
  type ManagementMessage,
  readConfig,
  readEarlyDrop,
  readEarlyDropCapacity,
  readFastPath,
} from './config.ts';
import { KernelCounterSource } from '@portcullis/dataplane/counters/kernel-source.ts';
import { DeniedFlows } from '@portcullis/dataplane/connections/denied-flows.ts';
import { createDeniedMemory } from '@portcullis/dataplane/connections/denied-memory.ts';
import { ownedConnections } from '@portcullis/dataplane/connections/owned-connections.ts';
import { requireStateAccess } from './state/access.ts';
import { DeniedFlowFile, savingDeniedFlows } from './state/denied-flow-file.ts';
import { COUNTER_TABLE_NAME } from '@portcullis/dataplane/nftables/names.ts';
import { ConnectionCounters } from '@portcullis/dataplane/counters/connections/connections.ts';
import { openConnectionReader } from '@portcullis/dataplane/counters/connections/reader.ts';
import { nftablesBackend, xdpBackend } from '@portcullis/dataplane/counters/kernel-source.ts';
import { disableEarlyDrop } from '@portcullis/dataplane/xdp/disable.ts';
import { FilterSupervisor } from '@portcullis/dataplane/filters/supervisor.ts';
import { saveClaim } from './switch/claim.ts';
import { createHost } from './host/host.ts';
import {
  eachConnection,
  removeWhere,
  removeConnections,
} from '@portcullis/dataplane/kernel/netlink/conntrack.ts';
import { watchLinks } from '@portcullis/dataplane/kernel/netlink/links.ts';
import { openRoutes } from '@portcullis/dataplane/kernel/netlink/routes.ts';
import { createLineLog, readLogLevel } from '@portcullis/agent/log.ts';
import { describeError } from '@portcullis/core/log.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { openCounterReader } from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import {
  countedBeforeRewrite,
  NftablesDrops,
} from '@portcullis/dataplane/nftables/elements/drop-source.ts';
import { openLearnedReader } from '@portcullis/dataplane/nftables/elements/learned-reader.ts';
import { openDriver } from '@portcullis/dataplane/nftables/open.ts';
import { serialDriver } from '@portcullis/dataplane/nftables/serial-driver.ts';
import { createSysctls } from '@portcullis/dataplane/kernel/sysctls.ts';
import { MEMORY_SHARE, Reassembly } from './host/reassembly.ts';
import { EdgeWatch } from './detection/watch.ts';
import { openSampleReader } from '@portcullis/dataplane/passed/reader.ts';
import { PassedSampler } from '@portcullis/dataplane/passed/sampler.ts';
import { createEarlyDrop } from '@portcullis/dataplane/xdp/create.ts';
import { deviceName } from '@portcullis/dataplane/xdp/devices/device.ts';
import { pinsFolder, recordPins } from '@portcullis/dataplane/xdp/devices/pins.ts';

/**
 * The edge process. It stops on SIGTERM and when its supervisor exits, and leaves its table in the kernel: enforcement
 * continues until an agent is back or the operator disables it.
 */
// Until the agent can stop in order: what is killed here leaves what the next edge expects.
const cancelExit = whenSupervisorGone(() => process.exit(1));
const { config, logLevel, early, capacity, fastPath } = readOptions();
const { stderr } = process;
const log = createLineLog('edge', (line) => stderr.write(line), logLevel, stderr.isTTY);
try {
  requireStateAccess(config.stateDir);
} catch (error) {
  exitWith(error);
}
await lockState({
  agent: 'edge',
  stateDir: config.stateDir,
  // Not in the directory of the markers, whose modification time is polled.
  path: join(config.stateDir, 'enforced', 'agent.lock'),
}).catch((error: unknown) => {
  if (error instanceof StateInUse) exitWith(error);
  log.info(
    { error },
    'the state directory cannot be locked; a second edge on it would not be noticed',
  );
});
try {
  saveClaim(config.stateDir, config);
} catch (error) {
  log.info({ error }, 'the claim could not be saved; edge off may leave it to the lease');
}
const pins = pinsFolder(config.stateDir, process.env);
try {
  recordPins(config.stateDir, pins);
} catch (error) {
  log.info(
    { error },
    'the folder of pinned programs could not be recorded; edge off may need PORTCULLIS_BPFFS',
  );
}
const earlyDrop = early === 'on' ? createEarlyDrop({ pins, capacity, fastPath, log }) : null;
const deviceModes = earlyDrop ?? disableEarlyDrop(pins, log);
const nftablesDrops = new NftablesDrops(() => openCounterReader());
// Drops that an earlier agent has reported. Without rights there are none.
await nftablesDrops.read().catch(() => {});
const nft = serialDriver(openDriver(log));
const { stateDir } = config;
const deniedFlowFile = new DeniedFlowFile({
  stateDir,
  log,
  open: openLearnedReader,
  eachConnection,
});
// Of an earlier agent, in case another program deletes its table. Without rights there is none.
await deniedFlowFile.save().catch(() => {});
const driver = savingDeniedFlows(
  countedBeforeRewrite(nft, nftablesDrops),
  deniedFlowFile,
  (error) =>
    log.warn({ error }, 'denied flows could not be saved; they may pass after edge off and on'),
);
const sysctls = createSysctls();
const filters = new FilterSupervisor({ driver, log, sysctls, removeConnections: removeWhere });
const fragmentLimits = fitToMemory(DEFAULT_LIMITS.fragmentLimits, totalmem() / MEMORY_SHARE);
const reassembly = new Reassembly({ sysctls, limits: fragmentLimits, stateDir, log });
const link = await connectControl({
  path: config.linkPath,
  agent: { kind: 'edge', name: config.name },
  credential: config.credential,
}).catch(exitWith);
renewCredentials(link, log);
link.onRefused((reason) => log.error({ reason }, 'control refuses this edge'));
const counters = new KernelCounterSource(
  [
    ...(earlyDrop === null ? [] : [xdpBackend(earlyDrop)]),
    nftablesBackend({
      apply: (text) => nft.apply(text),
      open: () => openCounterReader(COUNTER_TABLE_NAME),
    }),
  ],
  undefined,
  new ConnectionCounters({ apply: (text) => nft.apply(text), open: openConnectionReader }),
);
const passed = new PassedSampler({ apply: (text) => nft.apply(text), open: openSampleReader });
const watch = new EdgeWatch({
  link,
  counters,
  stateDir,
  log,
  onHeld: (networks) => passed.watch(networks),
});
const host = createHost();
const deniedFlows = new DeniedFlows({
  log,
  sweep: removeConnections,
  memory: createDeniedMemory(driver, (elements) => deniedFlowFile.copy(elements)),
  openOwnedConnections: (devices) => ownedConnections(devices, openRoutes(), deviceName),
  localAddresses: () => host.localAddresses(),
});
let { managementProblem } = config;
const agent = createEdgeAgent({
  link,
  watch,
  passed,
  driver,
  host,
  limits: { ...DEFAULT_LIMITS, fragmentLimits },
  reassembly,
  filters,
  deniedFlowFile,
  deniedFlows,
  watchLinks,
  stateDir,
  log,
  mode: config.mode,
  confirmWithinMs: config.confirmWithinMs,
  management: config.management,
  ...(earlyDrop === null ? {} : { earlyDrop }),
  facts: {
    deviceModes,
    drops: [nftablesDrops, ...(earlyDrop === null ? [] : [earlyDrop]), filters.drops, passed],
    filters: () => filters.count(),
    forgottenConnections: () => deniedFlows.removed,
    counters: () => watch.mode(),
    ...(earlyDrop === null ? {} : { fastPath: () => earlyDrop.fastPath() }),
    problems: () => [
      ...(managementProblem === null ? [] : [managementProblem]),
      ...deviceModes.problems(),
      ...filters.problems(),
      ...reassembly.problems(),
      ...watch.problems(),
      ...deniedFlows.problems(),
    ],
  },
});

const { mode, reason, isConfirmed } = await agent
  .start()
  .catch((error: unknown) => exitWith(error));
log.info({ mode, reason }, 'started');
if (process.connected) {
  const trial = isConfirmed ? 'confirmed' : '';
  process.send?.({ kind: 'ready', mode, reason, facts: { mode, reason: reason ?? '', trial } });
}

process.on('message', (message) => {
  const { kind, ...report } = message as ManagementMessage;
  if (kind !== 'management') return;
  ({ managementProblem } = report);
  agent.setManagement(report.management);
});

function readOptions() {
  try {
    const { argv, env } = process;
    return {
      config: readConfig(argv, env),
      logLevel: readLogLevel(env),
      early: readEarlyDrop(env),
      capacity: readEarlyDropCapacity(env),
      fastPath: readFastPath(env),
    };
  } catch (error) {
    return exitWith(error);
  }
}

/** Prints one line: a stack does not help the operator. */
function exitWith(error: unknown): never {
  process.stderr.write(`portcullis edge: ${describeError(error)}\n`);
  process.exit(1);
}

/** Shorter than the time that a supervisor waits for a child. */
const STOP_MS = 12_000;
let stopping = false;
async function stop(why: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  log.info({ why }, 'stopping; the kernel keeps the table');
  // Nobody else ends an orphan that does not stop.
  setTimeout(() => process.exit(1), STOP_MS);
  await agent.stop();
  process.exit(0);
}
process.once('SIGINT', () => void stop('SIGINT'));
process.once('SIGTERM', () => void stop('SIGTERM'));
cancelExit();
whenSupervisorGone(() => void stop('its supervisor exited'));

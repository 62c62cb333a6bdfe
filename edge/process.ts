import { totalmem } from 'node:os';
import { join } from 'node:path';
import { fitToMemory } from '@portcullis/core/firewall/fragment-limits.ts';
import { connectIpc } from '@portcullis/link/ipc.ts';
import { lockState, StateInUse } from '@portcullis/link/state-lock.ts';
import { createEdgeAgent } from './agent.ts';
import { readConfig, readEarlyDrop, readEarlyDropRoom } from './config.ts';
import { KernelCounterSource } from './counters/kernel-source.ts';
import { DeniedFlows } from './connections/denied-flows.ts';
import { createDeniedMemory } from './connections/denied-memory.ts';
import { judgedBy } from './connections/judged.ts';
import { SetAside, setAsideBeforeRemoval } from './connections/set-aside.ts';
import { COUNTER_TABLE_NAME } from './nftables/names.ts';
import { nftablesPlace, xdpPlace } from './counters/places.ts';
import { switchOff } from './early-drop-off.ts';
import { FilterKeeper } from './filters/keeper.ts';
import { createHost } from './host.ts';
import { eachConnection, removeWhere, sweepConnections } from './kernel/conntrack.ts';
import { watchLinks } from './kernel/links.ts';
import { openRoutes } from './kernel/routes.ts';
import { createLineLog, readLogLevel } from '@portcullis/link/agent-log.ts';
import { describeError } from '@portcullis/core/log.ts';
import { DEFAULT_LIMITS } from './nftables/table/base-chain.ts';
import { openCounterReader } from './nftables/elements/counter-reader.ts';
import { countedBeforeRewrite, NftablesDrops } from './nftables/elements/drop-source.ts';
import { LearntMemory } from './nftables/elements/learnt-memory.ts';
import { openLearntReader } from './nftables/elements/learnt-reader.ts';
import { openDriver } from './nftables/open.ts';
import { inTurns } from './nftables/turns.ts';
import { createSysctls, MEMORY_SHARE, Reassembly } from './reassembly.ts';
import { EdgeWatch } from './watch/watch.ts';
import { createEarlyDrop } from './xdp/create.ts';
import { deviceName } from './xdp/devices/device.ts';
import { pinsFolder, recordPins } from './xdp/devices/pins.ts';

/**
 * The process of an edge. Ended by SIGTERM, or by a supervisor that is gone, it leaves its table in the
 * kernel: what was enforced stays enforced until an agent is back or somebody takes our hands off.
 */
const { config, logLevel, early, room } = readEverything();
const log = createLineLog('edge', (line) => process.stderr.write(line), logLevel);
await lockState({
  agent: 'edge',
  stateDir: config.stateDir,
  // Not beside the switches, which are watched.
  path: join(config.stateDir, 'enforced', 'agent.lock'),
}).catch((error: unknown) => {
  if (error instanceof StateInUse) giveUp(error);
  log.info({ error }, 'another edge on this state directory would not be noticed');
});
const pins = pinsFolder(config.stateDir, process.env);
try {
  recordPins(config.stateDir, pins);
} catch (error) {
  log.info({ error }, 'edge off may have to be told where programs are pinned');
}
const earlyDrop = early === 'on' ? createEarlyDrop({ pins, room, log }) : null;
const deviceModes = earlyDrop ?? switchOff(pins, log);
const nftablesDrops = new NftablesDrops(() => openCounterReader());
// What an agent before this one has told already; without rights there is nothing to tell.
await nftablesDrops.read().catch(() => {});
const nft = inTurns(openDriver(log));
const { stateDir } = config;
const setAside = new SetAside({ stateDir, open: openLearntReader, eachConnection });
const driver = setAsideBeforeRemoval(countedBeforeRewrite(nft, nftablesDrops), setAside, (error) =>
  log.warn({ error }, 'connections that are denied will pass when the edge is on again'),
);
const sysctls = createSysctls();
const filters = new FilterKeeper({ driver, log, sysctls, removeConnections: removeWhere });
const fragmentLimits = fitToMemory(DEFAULT_LIMITS.fragmentLimits, totalmem() / MEMORY_SHARE);
const reassembly = new Reassembly({ sysctls, limits: fragmentLimits, stateDir, log });
const link = connectIpc({ path: config.linkPath, agent: { kind: 'edge', name: config.name } });
const counters = new KernelCounterSource([
  ...(earlyDrop === null ? [] : [xdpPlace(earlyDrop)]),
  nftablesPlace({
    apply: (text) => nft.apply(text),
    open: () => openCounterReader(COUNTER_TABLE_NAME),
  }),
]);
const watch = new EdgeWatch({ link, counters, stateDir, log });
const host = createHost();
const memory = new LearntMemory({ open: openLearntReader, log, setAside });
const deniedFlows = new DeniedFlows({
  log,
  sweep: sweepConnections,
  memory: createDeniedMemory(driver, memory),
  openJudged: (devices) => judgedBy(devices, openRoutes(), deviceName),
  localAddresses: () => host.localAddresses(),
});
const agent = createEdgeAgent({
  link,
  watch,
  driver,
  host,
  limits: { ...DEFAULT_LIMITS, fragmentLimits },
  reassembly,
  filters,
  memory,
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
    drops: [nftablesDrops, ...(earlyDrop === null ? [] : [earlyDrop]), filters.drops],
    filters: () => filters.count(),
    forgottenConnections: () => deniedFlows.removed,
    counters: () => watch.mode(),
    problems: () => [
      ...deviceModes.problems(),
      ...filters.problems(),
      ...reassembly.problems(),
      ...watch.problems(),
      ...deniedFlows.problems(),
    ],
  },
});

const { mode, reason } = await agent.start().catch((error: unknown) => giveUp(error));
log.info({ mode, reason }, 'started');
if (process.connected) {
  process.send?.({ kind: 'ready', mode, reason, facts: { mode, reason: reason ?? '' } });
}

function readEverything() {
  try {
    const { argv, env } = process;
    return {
      config: readConfig(argv, env),
      logLevel: readLogLevel(env),
      early: readEarlyDrop(env),
      room: readEarlyDropRoom(env),
    };
  } catch (error) {
    return giveUp(error);
  }
}

/** One line for a person; a stack would say nothing about what is wrong on this host. */
function giveUp(error: unknown): never {
  process.stderr.write(`portcullis edge: ${describeError(error)}\n`);
  process.exit(1);
}

let stopping = false;
async function stop(why: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  log.info({ why }, 'stopping; what the kernel has stays');
  await agent.stop();
  process.exit(0);
}
process.once('SIGINT', () => void stop('SIGINT'));
process.once('SIGTERM', () => void stop('SIGTERM'));
process.once('disconnect', () => void stop('its supervisor is gone'));

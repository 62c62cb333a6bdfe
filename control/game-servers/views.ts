import { completeRights, type ServerRight } from '@portcullis/core/access/server-rights.ts';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import { filterOfEgg } from '@portcullis/core/filters/of-egg.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { EggVariable } from '@portcullis/core/game-servers/egg.ts';
import { inputOf, type VariableInput } from '@portcullis/core/game-servers/eggs/input.ts';
import type { ServerResources } from '@portcullis/core/game-servers/power.ts';
import type { ConsoleLines, LiveServer } from './live.ts';
import type { ListedServer, ServerBuildRow, ServerStatusRow } from './store.ts';
import { timeView } from '../http/operations/view.ts';

export function listedView(server: ListedServer) {
  return {
    uuid: server.uuid,
    identifier: server.identifier,
    name: server.name,
    service_id: server.serviceId,
    provisioned: server.provisioned,
    limits: { memory: server.memoryMib, cpu: server.cpuPercent, disk: server.diskMib },
  };
}

export function detailView(server: ListedServer, live: LiveServer | null) {
  return {
    ...listedView(server),
    state: live?.state ?? null,
    resources: live?.resources ? resourcesView(live.resources) : null,
  };
}

function resourcesView(resources: ServerResources) {
  return {
    memory_bytes: resources.memoryBytes,
    memory_limit_bytes: resources.memoryLimitBytes,
    // Kernel counters may step back; negative values are shown as 0.
    cpu_absolute: Math.max(0, resources.cpuAbsolute),
    disk_bytes: resources.diskBytes,
    network_rx_bytes: resources.networkRxBytes,
    network_tx_bytes: resources.networkTxBytes,
    uptime: resources.uptimeMs,
  };
}

export function consoleView({ lines, lastNumber }: ConsoleLines) {
  return { lines, last_number: lastNumber };
}

export function statusView(server: ServerStatusRow) {
  const { uuid, name, state, suspended, crashedAt, node, egg, ip, port } = server;
  return {
    uuid,
    name,
    service_id: server.serviceId,
    service_name: server.serviceName,
    state,
    build_state: server.buildState,
    suspended,
    crashed_at: crashedAt === null ? null : timeView(crashedAt),
    node,
    node_connected: server.nodeConnected,
    egg,
    allocation: allocationView(ip, port),
  };
}

function allocationView(ip: string, port: number) {
  return { ip: canonicalAddress(ip) ?? ip, port };
}

/** `problem`: by its node. */
export function buildView(
  build: ServerBuildRow,
  problem: string | null,
  rights: ReadonlySet<ServerRight>,
) {
  const { uuid, state, reason, log, epoch, node, nodeConnected, egg, suspended, own } = build;
  const { ip, port, ports } = build;
  return {
    uuid,
    state,
    reason,
    log,
    epoch,
    node,
    node_connected: nodeConnected,
    egg,
    suspended,
    own,
    rights: completeRights(rights),
    problem,
    allocation: allocationView(ip, port),
    allocations: ports,
    suggested_filters: suggestedFilters(build),
    open_while_running: build.openPorts ?? build.openWhileRunning,
    ports_open: build.portsOpen,
  };
}

/** A server without a list has its first port with the protocols of its game. */
function suggestedFilters({ ip, port, ports, parsedEgg }: ServerBuildRow) {
  const own = { ...allocationView(ip, port), protocols: parsedEgg.protocols };
  return (ports.length > 0 ? ports : [own]).flatMap((one) =>
    one.protocols.map((protocol) => {
      const type = filterOfEgg(parsedEgg, protocol);
      return { ip: one.ip, port: one.port, protocol, type, name: findFilter(type)?.name ?? type };
    }),
  );
}

/** A startup variable of an egg, with the input that its rules ask for. */
export function variableView({ env, name, description, defaultValue, rules }: EggVariable) {
  const input = inputView(inputOf(rules, defaultValue));
  return { env, name, description, default: defaultValue, rules, input };
}

function inputView(input: VariableInput) {
  const hasBounds = input.kind === 'number' || input.kind === 'text';
  return {
    kind: input.kind,
    choices: input.kind === 'choice' ? input.choices : [],
    on: input.kind === 'switch' ? input.on : null,
    off: input.kind === 'switch' ? input.off : null,
    whole: input.kind === 'number' && input.whole,
    least: hasBounds ? input.least : null,
    most: hasBounds ? input.most : null,
  };
}

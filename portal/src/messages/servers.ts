import { formatCount } from '../format.ts';
import { many } from './many.ts';

const BUILD_EVENTS: Readonly<Record<string, string>> = {
  waiting: 'Waiting for its node to build it',
  building: 'Build started',
  built: 'Built',
  failed: 'Build failed',
};

const STATE_EVENTS: Readonly<Record<string, string>> = {
  offline: 'Went offline',
  starting: 'Starting',
  running: 'Running',
  stopping: 'Stopping',
  paused: 'Paused',
};

export const serverMessages = {
  servers: {
    title: 'Game servers',
    create: 'Create a server',
    make: 'New server',
    lead: 'The state of each server, as its node reports it.',
    search: 'Search: name, address:port, service, node, game',
    filter: 'Show',
    filters: { all: 'All', running: 'Running', offline: 'Offline', troubled: 'Needs attention' },
    facts: {
      servers: 'Servers',
      running: 'Running',
      troubled: 'Need attention',
      attacked: 'Under attack',
    },
    columns: {
      name: 'Server',
      state: 'State',
      address: 'Players connect to',
      service: 'Service',
      node: 'Node',
      attacks: 'Attacks',
    },
    underAttack: 'Under attack',
    quiet: 'Quiet',
    attacksUnknown: '–',
    nodeAway: 'not connected',
    shown: (shown: number, all: number) =>
      shown === all
        ? many(all, 'server', 'servers')
        : `${formatCount(shown)} of ${many(all, 'server', 'servers')}`,
    empty: {
      title: 'No game servers yet',
      text: 'The operator of this installation creates servers. One appears here while it is still being built.',
      operatorText: 'Create one: choose a game and a name.',
    },
    none: { title: 'No server matches', text: 'Change the search, or show all.' },
    states: {
      offline: 'Offline',
      starting: 'Starting',
      running: 'Running',
      stopping: 'Stopping',
      paused: 'Paused',
    },
    unknown: 'Unknown',
    crashed: 'Crashed',
    suspended: 'Suspended',
    builds: { waiting: 'Waiting to be built', building: 'Being built', failed: 'Build failed' },
  },
  server: {
    tabs: {
      console: 'Console',
      files: 'Files',
      resources: 'Resources',
      history: 'Crashes and attacks',
      ports: 'Ports',
      build: 'Build',
      sftp: 'SFTP',
      people: 'People',
      activity: 'Activity',
      settings: 'Settings',
    },
    facts: {
      memory: 'Memory',
      cpu: 'CPU',
      disk: 'Disk',
      network: 'Network since start',
      uptime: 'Uptime',
      of: (limit: string) => `of ${limit}`,
      unlimited: 'no limit',
      sent: (bytes: string) => `sent ${bytes}`,
      received: (bytes: string) => `received ${bytes}`,
      use: (what: string, share: string) => `${what}: ${share} of its limit`,
    },
    uptime: (days: number, hours: number, minutes: number) => {
      if (days > 0) return `${days} d ${hours} h`;
      return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`;
    },
    copy: 'Copy the address for players',
    nodeAway: (node: string) =>
      `Its node ${node} is not connected, so the state of the server is not known. It may still be running: players connect to it directly. Ask the operator about the node.`,
    unknown: 'Its node has not reported its state. It may still be running.',
    suspended:
      'The operator has suspended this server. Ask the operator to lift that before you start it.',
    crashed: 'It exited unexpectedly',
    power: {
      title: 'Power',
      signals: { start: 'Start', stop: 'Stop', restart: 'Restart', kill: 'Kill' },
      sent: {
        start: 'Starting the server',
        stop: 'Stopping the server: the game saves, then exits',
        restart: 'Restarting the server',
        kill: 'Killing the server',
      },
      refused: 'Not accepted',
      nothing: {
        start: { starting: 'It is already starting.', running: 'It is already running.' },
        stop: { offline: 'It is already offline.', stopping: 'It is already stopping.' },
        kill: { offline: 'It is offline, so there is nothing to kill.' },
      },
      noEffect: 'This has no effect now.',
      stopping: 'It is stopping. Start it once it is offline, or use Restart.',
      notBuilt: 'It is not built yet. See the tab “Build”.',
      nodeAway: 'Its node is not connected.',
      unknown: 'Its node does not know whether it is running. You can still kill it.',
      suspended: 'The operator has suspended it.',
      killTitle: (name: string) => `Kill ${name}?`,
      killText:
        'The process ends at once, without saving: players lose what happened since the last save, which cannot be undone. Stop lets the game save first, and kills it if it does not exit in time.',
      killConfirm: 'Kill it',
    },
    console: {
      title: 'Console',
      search: 'Search in the console',
      found: (at: number, all: number) => (all === 0 ? 'No match' : `${at} of ${all}`),
      next: 'Next match',
      previous: 'Previous match',
      live: 'Live',
      silent: 'Its node does not answer',
      loading: 'Reading',
      failed: 'The console cannot be read',
      newest: 'To the newest line',
      copy: 'Copy all lines',
      missing: '--- lines are missing here: there were too many at once, or the node restarted ---',
      command: 'Command',
      placeholder: 'A line for the game, such as: say Restart in five minutes',
      send: 'Send',
      notBuilt: 'Not built yet',
      notBuiltYet: 'It is not built yet: the tab “Build” says how far it is.',
      notRunning: 'Only a running server accepts commands. Start it first.',
      forMembers: {
        title: 'You may not see the console',
        text: 'It shows more than state, such as addresses of players, and one who reads it may type there. Ask one who decides about the people of this server for the right “control.console”.',
      },
      keys: 'Arrow keys scroll. Tab leaves the console.',
    },
    resources: {
      memory: 'Memory',
      cpu: 'CPU',
      disk: 'Disk',
      network: 'Network',
      received: 'Received',
      sent: 'Sent',
      limit: (limit: string) => `The dashed line is the limit, ${limit}.`,
      noLimit: 'No limit',
      chart: (what: string, now: string | null) =>
        now === null ? `${what} over the last day` : `${what} over the last day, ${now} at last`,
      empty: {
        title: 'No readings yet',
        text: 'While the server runs, a reading is kept each minute for a day. Start it, and come back in a minute or two.',
      },
    },
    history: {
      title: 'The last day',
      summary: (crashes: number, attacks: number) =>
        `Time line of the last day: ${many(crashes, 'crash', 'crashes')}, ${many(attacks, 'attack', 'attacks')}`,
      lanes: { state: 'State', crashes: 'Crashes', attacks: 'Attacks' },
      crashed: 'Crashed: it exited unexpectedly',
      attack: (what: string, peak: string, isOngoing: boolean) =>
        `${what}, up to ${peak}${isOngoing ? ', ongoing' : ''}`,
      became: (state: string) => STATE_EVENTS[state] ?? state,
      build: (state: string) => BUILD_EVENTS[state] ?? `Build: ${state}`,
      attacksHidden: 'This key cannot read attacks.',
      empty: {
        title: 'A quiet day',
        text: 'No change of state, no crash and no attack in the last 24 hours. They appear here as they happen.',
      },
    },
    ports: {
      title: 'Ports',
      columns: { port: 'Port', name: 'Name', firewall: 'Firewall', filter: 'Filter' },
      openTo: {
        everyone: 'Open',
        most: 'Open, but not to all',
        some: 'For some sources',
        nobody: 'Closed',
      } as Readonly<Record<string, string>>,
      moving: 'On its way to edges',
      waiting: 'Not enforced: no edge',
      rules: 'Rules',
      suggested: (filter: string) => `Add ${filter}, which fits`,
      managed: 'Managed by its service',
      notHeld: 'Not one of your addresses, so the firewall does not protect it.',
      hidden: 'This key cannot read the firewall.',
    },
    build: {
      title: 'Build',
      states: {
        waiting: 'Waiting for its node',
        building: 'Being built: image, folder, install',
        built: 'Built',
        failed: 'The build failed',
      },
      facts: { state: 'State', egg: 'Game', node: 'Node', epoch: 'Times built', limits: 'Limits' },
      times: (count: number) => (count === 1 ? 'once' : `${count} times`),
      limits: (memory: number, cpu: number, disk: number) =>
        [
          memory > 0 ? `${memory} MiB memory` : 'memory without limit',
          cpu > 0 ? `${cpu} % CPU` : 'CPU without limit',
          disk > 0 ? `${disk} MiB disk` : 'disk without limit',
        ].join(', '),
      log: 'Install output',
      noLog: 'There is no output: the game needs no install, or its install wrote nothing.',
    },
  },
} as const;

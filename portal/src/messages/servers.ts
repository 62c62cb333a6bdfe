import { many } from './many.ts';

const BUILD_EVENTS: Readonly<Record<string, string>> = {
  waiting: 'It waits for its node to build it',
  building: 'Its build began',
  built: 'It was built',
  failed: 'Its build failed',
};

export const serverMessages = {
  servers: {
    title: 'Game servers',
    lead: 'What each one does now, as its node reports it.',
    search: 'Search: name, address:port, service, node, game',
    filter: 'Show',
    filters: { all: 'All', running: 'Running', offline: 'Offline', troubled: 'Need a look' },
    facts: {
      servers: 'Servers',
      running: 'Running',
      troubled: 'Need a look',
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
    nodeAway: 'away',
    shown: (shown: string, all: string) =>
      shown === all ? `${all} servers` : `${shown} of ${all} servers`,
    empty: {
      title: 'No game servers yet',
      text: 'The operator adds a server to the fleet file with a game, a node and an address. It appears here while it is still being built.',
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
      resources: 'Resources',
      history: 'Crashes and attacks',
      ports: 'Ports',
      build: 'Build',
    },
    facts: {
      memory: 'Memory',
      cpu: 'CPU',
      disk: 'Disk',
      network: 'Network since start',
      uptime: 'Up for',
      of: (limit: string) => `of ${limit}`,
      cores: (percent: number) => `of ${percent} %`,
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
      `Its node ${node} is not connected, so nobody knows what the server does now. It may well run: players need no connection to us. The operator looks after the node.`,
    unknown: 'Its node does not answer for it now. Unknown is not offline.',
    suspended: 'The operator has suspended this server: it cannot be started until that ends.',
    crashed: 'It ended by itself while it should run',
    power: {
      title: 'Power',
      signals: { start: 'Start', stop: 'Stop', restart: 'Restart', kill: 'Kill' },
      sent: {
        start: 'Start was accepted',
        stop: 'Stop was accepted: the game saves, then ends',
        restart: 'Restart was accepted',
        kill: 'Kill was accepted',
      },
      refused: 'It was not accepted',
      nothing: {
        start: { starting: 'It is starting already.', running: 'It runs already.' },
        stop: { offline: 'It is offline already.', stopping: 'It is stopping already.' },
        kill: { offline: 'It is offline: nothing runs that could be killed.' },
      },
      noEffect: 'This has no effect now.',
      stopping: 'It is stopping; it can be started once it is offline. Restart does both.',
      notBuilt: 'It is not built yet. The tab Build says how far it is.',
      nodeAway: 'Its node is not connected.',
      unknown: 'Its node does not know now whether it runs. Kill works all the same.',
      suspended: 'The operator has suspended it.',
      killTitle: (name: string) => `Kill ${name}?`,
      killText:
        'The process ends at once, without saving: players lose what happened since the last save. Stop lets it save first, and kills by itself if the game does not end in time.',
      killConfirm: 'Kill it',
    },
    console: {
      title: 'Console',
      search: 'Search in the console',
      found: (at: number, all: number) => (all === 0 ? 'No match' : `${at} of ${all}`),
      next: 'Next match',
      previous: 'Match before',
      live: 'Live',
      silent: 'Its node does not answer',
      loading: 'Reading',
      failed: 'The console cannot be read',
      newest: 'To the newest line',
      copy: 'Copy all lines',
      missing:
        '--- lines are missing here: there were too many at once, or the node began anew ---',
      command: 'Command',
      placeholder: 'A line for the game, such as: say Restart in five minutes',
      send: 'Send',
      notRunning: 'Only a running server takes commands. Start it first.',
      forMembers: {
        title: 'The console is for members',
        text: 'It shows more than state, such as addresses of players, and whoever reads it may type there. Ask an owner or admin of your organisation to make you a member.',
      },
      keys: 'Arrow keys scroll. Tab leaves the console.',
    },
    resources: {
      memory: 'Memory',
      cpu: 'CPU',
      disk: 'Disk',
      network: 'Network',
      networkLead: 'Received: solid blue. Sent: dotted green.',
      limit: (limit: string) => `Its limit is ${limit}, the dashed line.`,
      chart: (what: string, now: string | null) =>
        now === null ? `${what} over the last day` : `${what} over the last day, ${now} at last`,
      empty: {
        title: 'Nothing was measured yet',
        text: 'While the server runs, a reading is kept each minute for a day. Start it, and come back in a minute or two.',
      },
    },
    history: {
      title: 'The last day',
      summary: (crashes: number, attacks: number) =>
        `Time line of the last day: ${many(crashes, 'crash', 'crashes')}, ${many(attacks, 'attack', 'attacks')}`,
      lanes: { state: 'State', crashes: 'Crashes', attacks: 'Attacks' },
      crashed: 'It crashed: it ended by itself while it should run',
      attack: (what: string, peak: string, isOngoing: boolean) =>
        `${what}, up to ${peak}${isOngoing ? ', ongoing' : ''}`,
      became: (state: string) => `It became ${state}`,
      build: (state: string) => BUILD_EVENTS[state] ?? `Its build became ${state}`,
      attacksHidden: 'This key may not see attacks.',
      empty: {
        title: 'A quiet day',
        text: 'No change of state, no crash and no attack in the last 24 hours. They appear here as they happen.',
      },
    },
    ports: {
      title: 'Ports',
      columns: { port: 'Port', name: 'For', firewall: 'Firewall', filter: 'Filter' },
      verdicts: { open: 'Open', closed: 'Closed', some: 'For some sources' },
      moving: 'On its way to edges',
      waiting: 'Not enforced: no edge',
      rules: 'Rules',
      suggested: (filter: string) => `Add ${filter}, which fits`,
      managed: 'Managed by its service',
      notHeld: 'No address of yours, so the firewall does not protect it.',
      hidden: 'This key may not see the firewall.',
    },
    build: {
      title: 'Build',
      states: {
        waiting: 'Waiting for its node',
        building: 'Being built: image, folder, install',
        built: 'Built',
        failed: 'The build failed',
      },
      facts: { state: 'State', egg: 'Game', node: 'Node', epoch: 'Built', limits: 'Limits' },
      times: (count: number) => (count === 1 ? 'once' : `${count} times`),
      limits: (memory: number, cpu: number, disk: number) =>
        `${memory} MiB memory, ${cpu} % CPU, ${disk} MiB disk`,
      log: 'Output of the install',
      noLog: 'No output is kept: either the game needs no install, or it wrote nothing.',
      again: 'Install again',
      againTitle: (name: string) => `Install ${name} again?`,
      againText:
        'Its node stops it and runs the install of its game again. Files stay as far as the install keeps them; it cannot be started until it is built.',
    },
  },
} as const;

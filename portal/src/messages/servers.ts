import { many } from './many.ts';

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
    count: (count: number) => many(count, 'server', 'servers'),
  },
} as const;

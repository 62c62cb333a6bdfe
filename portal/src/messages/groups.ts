export const groupMessages = {
  accepted: {
    underway: 'Accepted. On its way to the edges.',
    live: 'Live: every edge in service has it.',
    waiting: 'Accepted. It waits for an edge: none enforces there now.',
    late: 'Accepted, and not live everywhere yet. The tab “Edges” of an address says which edge is behind.',
  },
  diff: {
    added: 'Added',
    removed: 'Removed',
    more: (count: number) => `and ${count} more`,
  },
  groups: {
    title: 'Groups',
    lead: 'Rules and filters that several addresses and prefixes share.',
    add: 'New group',
    search: 'Search: a name, an address, a port',
    columns: {
      name: 'Name',
      rules: 'Rules',
      filters: 'Filters',
      targets: 'Applies to',
      owner: 'Owner',
    },
    nowhere: 'no address yet',
    more: (count: number) => `+${count}`,
    fleet: 'Fleet file',
    fleetHint: 'It comes from the fleet file. Ask the operator to change it there.',
    portal: 'Portal',
    none: { title: 'No group matches', text: 'Change the search.' },
    empty: {
      title: 'No groups yet',
      text: 'Write rules once and put them on all addresses of a game, or on a whole prefix. A new group shows what it would change before anything happens.',
    },
  },
} as const;

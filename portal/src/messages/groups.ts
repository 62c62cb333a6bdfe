import { many } from './many.ts';

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
    lead: 'Rules and filters that stand on several addresses and prefixes at once.',
    add: 'New group',
    search: 'Search: a name, an address, a port',
    columns: {
      name: 'Name',
      rules: 'Rules',
      filters: 'Filters',
      targets: 'On',
      owner: 'Owner',
    },
    nowhere: 'nowhere yet',
    more: (count: number) => `+${count}`,
    fleet: 'Fleet file',
    fleetHint: 'The fleet file owns it: it is changed there, by the operator.',
    portal: 'Portal',
    none: { title: 'No group matches', text: 'Change the search.' },
    empty: {
      title: 'No groups yet',
      text: 'Write rules once and put them on all addresses of a game, or on a whole prefix. A new group shows what it would change before anything happens.',
    },
  },
  group: {
    newTitle: 'New group',
    name: 'Name',
    nameHint: 'Rules on an address show it.',
    missing: {
      title: 'There is no such group',
      text: 'It may have been deleted. The list has those that are there.',
      back: 'Go to the groups',
    },
    locked: {
      fleet:
        'The fleet file owns this group. The operator changes it there; here it can only be seen.',
    },
    rules: 'Rules',
    rulesLead: 'They stand on each address beside its own.',
    addRule: 'Add a rule',
    takeOut: (what: string) => `Take out ${what}`,
    noRules: 'No rules in this group.',
    filters: 'Filters',
    filtersLead:
      'Whoever is connected through these ports must reconnect once a new filter is live.',
    addFilter: 'Add a filter',
    noFilters: 'No filters in this group.',
    targets: 'Addresses and prefixes',
    targetsLead:
      'Where the group stands. A prefix inside what you hold covers every address in it.',
    targetsLabel: 'Addresses and prefixes',
    targetsPlaceholder: '203.0.113.10, 203.0.113.64/26',
    notATarget: (typed: string, reason: string) => `“${typed}”: ${reason}`,
    save: 'Save',
    create: 'Create the group',
    discard: 'Discard changes',
    saved: (name: string) => `Group ${name}`,
    delete: 'Delete',
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteText: (targets: number) =>
      targets === 0
        ? 'It is on no address, so nothing changes anywhere.'
        : `Its rules and filters go from ${many(targets, 'address or prefix', 'addresses and prefixes')}.`,
    deleteConfirm: 'Delete the group',
    leave: {
      title: 'Leave without saving?',
      text: 'What you changed in this group is not saved.',
      stay: 'Stay',
      leave: 'Leave',
    },
  },
  preview: {
    title: 'What will change',
    lead: 'The service tries it while you type. Nothing happens until you save.',
    unnamed: 'Give the group a name to see what it changes.',
    same: 'Nothing is changed yet.',
    nowhere: 'It is on no address, so no packet is treated differently.',
    refreshing: 'Trying…',
    conflicts: (count: number) =>
      `${many(count, 'conflict stops', 'conflicts stop')} the whole change:`,
    conflictHint: 'Take out the rule or filter here, or where it stands already.',
    change: {
      assigned: 'New here',
      unassigned: 'Goes from here',
      changed: 'Changes',
      unchanged: 'Stays as it is',
    },
    configured: (count: number) =>
      `${many(count, 'address', 'addresses')} in it with rules or filters of their own`,
    blocked: 'Solve the conflicts first.',
    waiting: 'Wait until the service has tried it.',
    unchanged: 'Nothing is changed yet.',
  },
} as const;

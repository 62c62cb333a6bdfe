import { many } from './many.ts';

/** The words of the editor of a group, read when it is opened. */
export const groupEditorMessages = {
  group: {
    newTitle: 'New group',
    name: 'Name',
    nameHint: 'Shown beside its rules on every address.',
    missing: {
      title: 'There is no such group',
      text: 'It may have been deleted.',
      back: 'Go to the groups',
    },
    locked: {
      fleet: 'The fleet file owns this group. Ask the operator to change it there.',
    },
    rules: 'Rules',
    rulesLead: 'They apply to each address beside its own rules.',
    addRule: 'Add a rule',
    takeOut: (what: string) => `Remove ${what}`,
    noRules: 'No rules in this group.',
    filters: 'Filters',
    filtersLead:
      'Players who are connected through these ports must reconnect once a new filter is live.',
    addFilter: 'Add a filter',
    noFilters: 'No filters in this group.',
    targets: 'Addresses and prefixes',
    targetsLead: 'Where the group applies. A prefix covers every address in it.',
    targetsLabel: 'Addresses and prefixes',
    targetsPlaceholder: '203.0.113.10, 203.0.113.64/26',
    notATarget: (typed: string, reason: string) => `“${typed}”: ${reason}`,
    save: 'Save',
    create: 'Create the group',
    discard: 'Discard changes',
    saved: (name: string) => `Group ${name} saved`,
    deleted: (name: string) => `Group ${name} deleted`,
    delete: 'Delete',
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteText: (targets: number) =>
      targets === 0
        ? 'It applies to no address, so nothing changes.'
        : `Its rules and filters are removed from ${many(targets, 'address or prefix', 'addresses and prefixes')}.`,
    deleteConfirm: 'Delete the group',
    leave: 'Your changes to this group are not saved.',
  },
  preview: {
    typing: 'Add the rule or filter that you type, or close its form: it is not in the group yet.',
    title: 'What will change',
    lead: 'Updated while you type. Nothing happens until you save.',
    unnamed: 'Give the group a name to see what it changes.',
    same: 'Nothing is changed yet.',
    nowhere: 'It applies to no address, so no packet is treated differently.',
    refreshing: 'Checking…',
    conflicts: (count: number) =>
      `${many(count, 'conflict stops', 'conflicts stop')} the whole change:`,
    conflictHint: 'Remove the rule or filter here, or where it already is.',
    change: {
      assigned: 'Added here',
      unassigned: 'Removed from here',
      changed: 'Changes',
      unchanged: 'Stays as it is',
    },
    configured: (count: number) =>
      `${many(count, 'address', 'addresses')} in it with rules or filters of their own`,
    blocked: 'Solve the conflicts first.',
    waiting: 'Wait until the change is checked.',
    unchanged: 'Nothing is changed yet.',
  },
} as const;

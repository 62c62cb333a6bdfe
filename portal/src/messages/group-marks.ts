/** The name, the end and the note of a rule or filter of a group. */
export const groupMarksMessages = {
  edit: (what: string) => `Edit the name, end and note of ${what}`,
  title: 'Name, end and note',
  save: 'Apply',
  ref: 'Name',
  refHint: 'Your own, unique in the group. Optional.',
  ends: 'Ends',
  endsHint: 'It is removed by itself then. Empty: never.',
} as const;

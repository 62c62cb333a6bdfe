import { many } from '../many.ts';

/** The people of one server, and what was done with it: read when its page is opened. */
export const serverPeopleMessages = {
  lacks: (right: string) =>
    `You lack the right “${right}” to this server. Ask one who decides about its people.`,
  title: 'People',
  lead: 'People who have rights to this server alone. They see nothing else of your organisation. Members have rights by their role.',
  invite: 'Invite a person',
  email: 'Email',
  rights: 'What this person may do',
  presets: {
    title: 'Begin with',
    restart: 'Console and restart',
    files: 'Files',
    all: 'Everything',
  },
  notYours: 'You lack this right yourself, so you cannot give it.',
  none: 'Choose at least one right.',
  makeLink: 'Make the link',
  note: 'You get a link to pass on. It is mailed too where the operator set up a mail server.',
  linkText: (email: string, until: string) =>
    `Give it to ${email}. It works once, until ${until}, and as long as you may invite people here.`,
  columns: { person: 'Person', rights: 'Rights', since: 'Since', actions: 'Actions' },
  change: 'Change rights',
  changeOf: (name: string) => `Change the rights of ${name}`,
  save: 'Save rights',
  remove: 'Remove',
  removeOf: (name: string) => `Remove ${name}`,
  removeTitle: (name: string) => `Remove ${name}?`,
  removeText: (email: string) =>
    `${email} loses access to this server within a second, also open consoles. To undo this, invite the person again.`,
  invitations: 'Open invitations',
  invitationsLead: 'Links that have not been used yet.',
  gives: (rights: readonly string[]) => many(rights.length, 'right', 'rights'),
  empty: {
    title: 'Nobody besides the members',
    text: 'Invite a friend who may restart the server, or somebody who looks after its files.',
  },
  refused: {
    title: 'You may not see the people of this server',
  },
  activity: {
    title: 'Activity',
    lead: 'Who did what with this server. The newest 5,000 entries of the last 90 days are kept.',
    columns: { at: 'When', actor: 'Who', action: 'What', door: 'By', source: 'From' },
    doors: { api: 'API key', portal: 'Portal', sftp: 'SFTP', node: 'Node' } as Readonly<
      Record<string, string>
    >,
    actions: {
      power: 'Power',
      command: 'Command',
      reinstall: 'Installed again',
      settings: 'Changed settings',
      'people.invite': 'Invited',
      'people.change': 'Changed rights',
      'people.remove': 'Removed a person',
      'people.withdraw': 'Withdrew an invitation',
      'ports.add': 'Added a port',
      'ports.set': 'Named a port',
      'ports.primary': 'Chose the first port',
      'ports.remove': 'Removed a port',
      'sftp.connect': 'Connected',
      'files.write': 'Wrote',
      'files.move': 'Moved',
      'files.delete': 'Deleted',
      'files.folder': 'Made a folder',
      'files.mode': 'Set permissions',
    } as Readonly<Record<string, string>>,
    times: (count: number) => `${count} times`,
    older: 'Older entries',
    refused: { title: 'You may not see what was done with this server' },
    empty: {
      title: 'Nothing yet',
      text: 'What people and keys do with this server is listed here.',
    },
  },
} as const;

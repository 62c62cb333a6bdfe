import { many } from '../many.ts';

/** The settings of a server that its people may change: read when the tab is opened. */
export const serverSettingsMessages = {
  title: 'Settings',
  general: 'General',
  name: 'Name',
  image: 'Image',
  imageText: 'What the game runs in. A server that runs takes another one at its next start.',
  firstImage: (label: string) => `${label} (the first of the game)`,
  game: 'Settings of the game',
  gameText: 'A server that runs takes them at its next start.',
  noVariables: 'This game has no settings that can be shown here. Its files have them.',
  power: 'Start, stop and crashes',
  withHost: 'When its host was started',
  withHostText: 'After a reboot or a failure of the machine that it runs on.',
  withHostChoices: {
    as_before: 'As it was before',
    always: 'Start it',
    never: 'Leave it off',
  },
  stopTime: 'Seconds to stop',
  stopTimeText: (ofEgg: number) =>
    `After this time it is ended if it has not stopped by itself. Empty: ${ofEgg}, as the game says.`,
  restart: 'Start it again after a crash',
  tries: 'Restarts in a row',
  triesText: 'After this many it stays offline.',
  within: 'Seconds between crashes',
  withinText: 'Crashes this soon after each other are in a row.',
  save: (count: number) => (count === 0 ? 'Save' : `Save ${many(count, 'change', 'changes')}`),
  saved: 'Saved.',
  nothing: 'Nothing is changed.',
  refused: { title: 'You may not see the settings of this server' },
  waiting: (names: readonly string[]) =>
    `The server runs with older settings: ${names.join(', ')}. They take effect when it is restarted.`,
  parts: {
    egg: 'the game',
    image: 'the image',
    limits: 'its limits',
    ports: 'its ports',
    startup: 'its startup line',
    mounts: 'its mounts',
  } as Readonly<Record<string, string>>,
  restartNow: 'Restart now',
  restartTitle: (name: string) => `Restart ${name}?`,
  restartText: 'Players are disconnected, and can join again when it runs.',
  again: 'Install again',
  againLead:
    'Runs the install of the game again: after a failed build, or to get what a new version installs. The server is stopped first and cannot be started until it is built.',
  againTitle: (name: string) => `Install ${name} again?`,
  againText:
    'The node stops the server and runs the install of its game again. The server cannot be started until it is built.',
  files: 'The files that are there',
  fileChoices: {
    keep: { label: 'Keep them', text: 'The install may overwrite some of them.' },
    bin: {
      label: 'Move them to the bin',
      text: 'They can be restored for seven days, and count as disk until then.',
    },
    delete: { label: 'Delete them', text: 'With what the bin has. This cannot be undone.' },
  },
} as const;

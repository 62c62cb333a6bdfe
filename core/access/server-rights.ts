import type { Ability } from './abilities.ts';

/**
 * The rights that a person or key may have to one game server. The names are those of Pterodactyl's permissions, so
 * that what communities and their tools know holds here too. Source: panel 1.11, app/Models/Permission.php.
 */
const GROUPS = {
  websocket: {
    title: 'See',
    rights: { connect: 'See that the server exists, its state, and what it uses.' },
  },
  control: {
    title: 'Console and power',
    rights: {
      console: 'Read the console and type commands.',
      start: 'Start the server.',
      stop: 'Stop or kill the server.',
      restart: 'Restart the server.',
    },
  },
  file: {
    title: 'Files',
    rights: {
      read: 'List folders: names, sizes and times.',
      'read-content': 'Open and download files.',
      create: 'Upload files and make files and folders.',
      update: 'Change, rename and move files.',
      delete: 'Delete files. They stay in the bin for seven days.',
      archive: 'Pack and unpack archives.',
      sftp: 'Connect by SFTP. The other rights to files say what may be done there.',
    },
  },
  user: {
    title: 'People',
    rights: {
      read: 'See who has rights to the server.',
      create: 'Invite people, with rights that one has oneself.',
      update: 'Change the rights of people, to rights that one has oneself.',
      delete: 'Remove people.',
    },
  },
  allocation: {
    title: 'Ports',
    rights: {
      read: 'See the ports of the server.',
      create: 'Add ports, as many as the operator allows.',
      update: 'Name ports, and choose the first one.',
      delete: 'Remove ports that were added.',
    },
  },
  startup: {
    title: 'Startup',
    rights: {
      read: 'See the settings of the server: its variables, and how it starts and stops.',
      update: 'Change variables, and how the server starts, stops and reacts to crashes.',
      'docker-image': 'Choose another image of the game.',
    },
  },
  settings: {
    title: 'Settings',
    rights: {
      rename: 'Rename the server.',
      reinstall: 'Install the server again, also without the files that it has.',
    },
  },
  activity: {
    title: 'Activity',
    rights: { read: 'See who did what with the server.' },
  },
} as const satisfies Record<string, ServerRightGroup>;

interface ServerRightGroup {
  readonly title: string;
  /** A sentence for people, by the second part of the right's name. */
  readonly rights: Readonly<Record<string, string>>;
}

type Groups = typeof GROUPS;

/** `control.start`, `file.read-content`, ... */
export type ServerRight = {
  [Group in keyof Groups]: `${Group}.${keyof Groups[Group]['rights'] & string}`;
}[keyof Groups];

/** The groups in the order in which people read them, each with its rights and their descriptions. */
export const SERVER_RIGHT_GROUPS: readonly {
  readonly title: string;
  readonly rights: readonly { readonly right: ServerRight; readonly description: string }[];
}[] = Object.entries<ServerRightGroup>(GROUPS).map(([group, { title, rights }]) => ({
  title,
  rights: Object.entries(rights).map(([name, description]) => ({
    right: `${group}.${name}` as ServerRight,
    description,
  })),
}));

/** Every right, in the order of the groups. */
export const SERVER_RIGHTS: readonly ServerRight[] = SERVER_RIGHT_GROUPS.flatMap(({ rights }) =>
  rights.map(({ right }) => right),
);

/** The rights to the files of a server. */
export type FileRight = Extract<ServerRight, `file.${string}`>;
export const FILE_RIGHTS = SERVER_RIGHTS.filter((right): right is FileRight =>
  right.startsWith('file.'),
);

/** The right to see a server, which every other right brings with it. */
export const SEES: ServerRight = 'websocket.connect';

/** The description of a right as a clause: `stop or kill the server`. */
export function describeRight(right: ServerRight): string {
  const all = SERVER_RIGHT_GROUPS.flatMap(({ rights }) => rights);
  const description = all.find((one) => one.right === right)?.description ?? right;
  return description.charAt(0).toLowerCase() + description.slice(1).replace(/\.$/, '');
}

export function isServerRight(text: string): text is ServerRight {
  return (SERVER_RIGHTS as readonly string[]).includes(text);
}

function rightsOf(...groups: readonly (keyof Groups)[]): readonly ServerRight[] {
  return SERVER_RIGHTS.filter((right) => groups.some((group) => right.startsWith(`${group}.`)));
}

/** The rights that an ability of a key grants on the servers within its reach. */
const ABILITY_RIGHTS: Readonly<Partial<Record<Ability, readonly ServerRight[]>>> = {
  'game-servers.read': [SEES],
  'game-servers.manage': [...rightsOf('control'), 'settings.reinstall'],
  'game-servers.files': rightsOf('file'),
  'game-servers.settings': rightsOf('user', 'allocation', 'startup', 'settings', 'activity'),
};

/** The rights of a key with these abilities, on every server within its reach. */
export function rightsOfAbilities(abilities: Iterable<Ability>): ReadonlySet<ServerRight> {
  return new Set(
    completeRights([...abilities].flatMap((ability) => ABILITY_RIGHTS[ability] ?? [])),
  );
}

/** The rights that an operation may be about which asks for this ability; the first names it in refusals. */
export function rightsOfAbility(ability: Ability): readonly ServerRight[] {
  return ABILITY_RIGHTS[ability] ?? [SEES];
}

/** The abilities that operations ask for of which one of these rights is a part. */
export function abilitiesOfRights(rights: Iterable<ServerRight>): ReadonlySet<Ability> {
  const own = new Set(completeRights(rights));
  const abilities = Object.keys(ABILITY_RIGHTS) as Ability[];
  return new Set(
    abilities.filter((ability) => ABILITY_RIGHTS[ability]?.some((right) => own.has(right))),
  );
}

const MEMBER: readonly ServerRight[] = SERVER_RIGHTS.filter((right) => !right.startsWith('user.'));

/** The rights of a role of an organisation, on each of its servers. */
const ROLE_RIGHTS = {
  'read-only': new Set<ServerRight>([SEES]),
  member: new Set<ServerRight>([...MEMBER, 'user.read']),
  admin: new Set<ServerRight>(SERVER_RIGHTS),
  owner: new Set<ServerRight>(SERVER_RIGHTS),
} as const satisfies Record<string, ReadonlySet<ServerRight>>;

export type RoleOfServers = keyof typeof ROLE_RIGHTS;

export function rightsOfRole(role: RoleOfServers): ReadonlySet<ServerRight> {
  return ROLE_RIGHTS[role];
}

/** The rights as they are stored: in the order of the table, each once, with the right to see the server. */
export function completeRights(rights: Iterable<ServerRight>): readonly ServerRight[] {
  const chosen = new Set(rights);
  if (chosen.size > 0) chosen.add(SEES);
  return SERVER_RIGHTS.filter((right) => chosen.has(right));
}

/**
 * The rights of `wanted` that `giver` may not give away, because it does not have them itself. One who may invite must not become
 * able to do more by inviting.
 */
export function ungiveable(
  giver: ReadonlySet<ServerRight>,
  wanted: Iterable<ServerRight>,
): readonly ServerRight[] {
  return [...wanted].filter((right) => !giver.has(right));
}

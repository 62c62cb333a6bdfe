/** The rights to a server's files, with the names that Pterodactyl gives them, and what each allows. */
export const FILE_RIGHTS = {
  'file.read': 'List folders, and search by name',
  'file.read-content': 'Read files, and search in them',
  'file.create': 'Create files and folders',
  'file.update': 'Change, move and rename files',
  'file.delete': 'Delete files',
  'file.archive': 'Make archives and unpack them',
} as const;

export type FileRight = keyof typeof FILE_RIGHTS;

const ALL = Object.keys(FILE_RIGHTS) as readonly FileRight[];

/** The file rights of a key or a person by its abilities. */
export function fileRightsOf(abilities: ReadonlySet<string>): readonly FileRight[] {
  if (abilities.has('game-servers.files.manage')) return ALL;
  return abilities.has('game-servers.files.read') ? ['file.read', 'file.read-content'] : [];
}

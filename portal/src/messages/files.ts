import { formatCount } from '../format.ts';
import { many } from './many.ts';

const filesOf = (count: number): string => many(count, 'file', 'files');
const itemsOf = (count: number): string => many(count, 'item', 'items');
const namedOr = (names: readonly string[]): string =>
  names.length === 1 ? `“${names[0]}”` : itemsOf(names.length);

/** Nouns of jobs of the node, by their kind. */
const JOBS: Readonly<Record<string, readonly [doing: string, done: string]>> = {
  copy: ['Copying', 'Copied'],
  archive: ['Packing', 'Packed'],
  unpack: ['Unpacking', 'Unpacked'],
  pull: ['Fetching', 'Fetched'],
};

function wordsOfJob(kind: string, state: string, name: string): string {
  const [doing, done] = JOBS[kind] ?? ['Working on', 'Done with'];
  if (state === 'running') return `${doing} “${name}”`;
  if (state === 'done') return `${done} “${name}”`;
  return state === 'cancelled' ? `${doing} “${name}” was cancelled` : `${doing} “${name}” failed`;
}

/** The file manager of a game server, read when it is opened. */
export const filesMessages = {
  panel: {
    refused: 'You may not see the files of this server',
    notBuilt: {
      title: 'There are no files yet',
      text: 'They are here once the server is built. See the tab “Build”.',
    },
  },
  names: {
    copy: 'copy',
    empty: 'Give it a name.',
    dots: 'A name cannot be empty, “.” or “..”.',
    impossible:
      'No file can have this name: it is too long, or has a character that names cannot have.',
  },
  refusals: {
    single: 'Choose one file alone for this.',
    denied: (name: string) => `The game of this server keeps “${name}” from being changed or read.`,
    special: (name: string) => `“${name}” is neither a file nor a folder: it is shown only.`,
    noArchive:
      'This is no archive. zip, tar, gz and zst can be unpacked, and 7z, rar and xz where the node can.',
    keyZip:
      'With an API key, only single files can be downloaded here. Sign in with your account for folders.',
  },
  crumbs: { root: 'All files', label: 'Where you are' },
  tools: {
    new: 'New',
    upload: 'Upload',
    make: { folder: 'New folder', file: 'New file', pull: 'From a web address' },
    uploads: { files: 'Choose files', folder: 'Choose a folder' },
    show: { search: 'Search files', usage: 'What takes the disk', bin: 'Bin' },
    leave: {
      search: 'Close the search',
      usage: 'Close the disk use',
      bin: 'Close the bin',
    },
  },
  table: {
    label: (folder: string) => (folder === '' ? 'Files' : `Files in ${folder}`),
    all: 'Choose all',
    choose: (name: string) => `Choose ${name}`,
    columns: { name: 'Name', size: 'Size', modified: 'Changed', mode: 'Permissions', menu: 'Menu' },
    menuOf: (name: string) => `Menu of ${name}`,
    newName: (name: string) => `New name of ${name}`,
    noSlash: 'A name has no “/”. Use “Move” to bring it to another folder.',
    denied: 'Protected',
    types: { file: 'File', folder: 'Folder', link: 'Link', other: 'Special file' } as Readonly<
      Record<string, string>
    >,
  },
  menu: {
    label: 'Menu of what is chosen',
    open: 'Open',
    edit: 'Open',
    download: 'Download',
    rename: 'Rename',
    move: 'Move to…',
    copy: 'Make a copy',
    archive: 'Pack into an archive…',
    mode: 'Permissions…',
    unpackHere: 'Unpack here',
    unpackTo: (name: string) => `Unpack to “${name}”`,
    copyPath: 'Copy the path',
    delete: 'Delete',
    keys: { enter: 'Enter', rename: 'F2', delete: 'Del' },
  },
  selection: {
    summary: (total: number, isComplete: boolean) =>
      isComplete ? itemsOf(total) : `More than ${itemsOf(total)}: not all are listed`,
    chosen: (count: number, size: string | null) =>
      `${formatCount(count)} chosen${size === null ? '' : `, ${size}`}`,
    clear: 'Choose nothing',
    acts: {
      download: 'Download what is chosen',
      move: 'Move what is chosen',
      archive: 'Pack what is chosen',
      mode: 'Set permissions of what is chosen',
      delete: 'Delete what is chosen',
    },
  },
  browser: {
    title: 'Files',
    drop: (folder: string) => (folder === '' ? 'Drop to upload' : `Drop to upload to ${folder}`),
    empty: {
      title: 'This folder is empty',
      text: 'Drop files or whole folders here, or use “Upload”.',
    },
  },
  changes: {
    renamed: (from: string, to: string) => `Renamed “${from}” to “${to}”`,
    moved: (names: readonly string[], folder: string) =>
      `Moved ${namedOr(names)} to ${folder === '' ? 'the top folder' : `“${folder}”`}`,
    deleted: (names: readonly string[]) => `Moved ${namedOr(names)} to the bin`,
    failed: (failed: number, all: number) =>
      all <= 1 ? 'Not done' : `${formatCount(failed)} of ${itemsOf(all)} not done`,
    refused: 'Not done',
    job: wordsOfJob,
  },
  newDialog: {
    title: { file: 'New file', folder: 'New folder' },
    name: 'Name',
    placeholder: { file: 'config.yml', folder: 'plugins' },
    submit: 'Create',
    taken: 'There is something with this name already.',
  },
  clash: {
    title: (count: number) =>
      count === 1 ? 'One name is there already' : `${formatCount(count)} names are there already`,
    text: 'Replace overwrites files of the same name; in folders it adds to what is there. Skip uploads only what is new.',
    more: (count: number) => `and ${formatCount(count)} more`,
    skip: 'Skip these',
    replace: 'Replace',
  },
  move: {
    title: (count: number) => `Move ${itemsOf(count)}`,
    tree: 'Folders',
    choose: 'Choose a folder.',
    to: (folder: string) => `To ${folder === '' ? 'the top folder' : folder}`,
    inside: 'A folder cannot be moved into itself.',
    there: 'It is there already.',
    submit: 'Move here',
  },
  archive: {
    title: (count: number) => `Pack ${itemsOf(count)}`,
    name: 'Name',
    format: 'Format',
    submit: 'Pack',
    unnamed: 'files',
    taken: (name: string) => `There is a “${name}” already.`,
    tooMany: (most: number) => `Choose at most ${formatCount(most)}, or the folder around them.`,
  },
  mode: {
    title: (names: readonly string[]) => `Permissions of ${namedOr(names)}`,
    octal: 'Mode',
    mixed: 'Mixed',
    usual: 'Usual are 644 for files, and 755 for folders and scripts.',
    digits: 'A mode is three digits from 0 to 7, such as 644.',
    kept: 'Boxes with a dash differ between what is chosen, and stay so until you check or clear them.',
    folders:
      'A folder is entered by “Execute”. What is in it keeps its own permissions: open it and choose all to change them.',
    classes: { owner: 'Owner', group: 'Group', others: 'Others' },
    rights: { read: 'Read', write: 'Write', execute: 'Execute' },
    box: (group: string, right: string) => `${group}: ${right}`,
    submit: 'Set permissions',
    changed: (names: readonly string[]) => `Changed the permissions of ${namedOr(names)}`,
  },
  pull: {
    title: 'Fetch a file from a web address',
    url: 'Address',
    urlText: 'The host of the server fetches it, so it need not go through your computer.',
    name: 'Name',
    nameText: 'The name that it gets here; empty: the one of the address.',
    taken: 'There is something with this name already. Choose another one.',
    noUrl: 'An address begins with http:// or https://.',
    submit: 'Fetch',
  },
  uploads: {
    title: 'Uploads',
    state: (done: number, all: number, failed: number) =>
      `Uploaded ${formatCount(done)} of ${filesOf(all)}${failed > 0 ? `, ${formatCount(failed)} failed` : ''}`,
    of: (sent: string, size: string) => `${sent} of ${size}`,
    progress: (share: string) => `Uploads: ${share}`,
    retry: 'Try failed ones again',
    retryOf: (path: string) => `Try ${path} again`,
    cancelAll: 'Cancel all',
    cancelOf: (path: string) => `Cancel ${path}`,
    cancelled: 'Cancelled',
    clear: 'Close',
    more: (count: number) => `and ${formatCount(count)} more`,
    exists: 'There is a file of this name already. Upload it again and choose “Replace”.',
  },
  jobs: {
    title: 'Running jobs',
    kind: wordsOfJob,
    soFar: (entries: number, size: string) => `${filesOf(entries)}, ${size}`,
    cancel: (name: string) => `Cancel the job on ${name}`,
    close: (name: string) => `Close the job on ${name}`,
  },
  bin: {
    title: 'Bin',
    lead: (days: number) =>
      `Deleted files are kept for ${formatCount(days)} days. They count as disk of the server until then.`,
    columns: {
      name: 'Name',
      from: 'Was in',
      size: 'Size',
      deleted: 'Deleted',
      actions: 'Actions',
    },
    restore: 'Restore',
    restoreOf: (path: string) => `Restore ${path}`,
    restored: (path: string) => `Restored “${path}”`,
    emptyIt: 'Empty the bin',
    emptyTitle: 'Empty the bin?',
    emptyText: 'All deleted files of this server are removed for good. This cannot be undone.',
    isEmpty: 'The bin is empty.',
    empty: { title: 'The bin is empty', text: 'What you delete is kept here for some days.' },
  },
  search: {
    by: 'Search in',
    names: 'Names',
    texts: 'Text',
    nameField: 'A part of a name, or *.yml',
    textField: 'A part of a line',
    below: (folder: string) => (folder === '' ? 'in all files' : `below ${folder}`),
    nothing: {
      title: 'Search below this folder',
      text: 'Type a part of a name, or choose “Text” to find a setting in the files.',
    },
    none: { title: 'Nothing found', text: 'Try fewer letters, or a folder further up.' },
    incomplete:
      'There is more than is listed, or the search took too long. Search in a folder, or for more letters.',
    found: (count: number) => `${itemsOf(count)} found`,
  },
  usage: {
    total: (size: string, entries: number) => `${size} in ${itemsOf(entries)}`,
    of: (name: string) => `Disk use of ${name}`,
    incomplete: 'There was no time to count all of it: what is shown is a part.',
    more: (count: number) => `and ${itemsOf(count)} of less`,
    empty: 'This folder is empty.',
  },
  file: {
    refused: 'You may not open files of this server',
    download: 'Download this file',
    close: 'Back to the folder',
    binary: 'This file is no text',
    binaryText: (size: string) => `It has ${size}. Download it to open it with a program of yours.`,
    image: (size: string) => size,
  },
  editor: {
    label: (name: string) => `${name}. Escape, then Tab leaves the editor.`,
    save: 'Save',
    saved: 'Saved',
    savedHint:
      'Saved. Many games read their files only when they start: restart the server to use it.',
    unsaved: 'Not saved',
    unchanged: 'There is nothing to save.',
    keys: 'Ctrl+S saves, Ctrl+F searches.',
    leave: 'What you changed in this file is not saved.',
    becameBinary: 'What lies there now is no text any more. Download it to look at it.',
  },
  conflict: {
    changed: (name: string) =>
      `${name} was changed since you opened it, by another person or the game. Nothing is saved yet.`,
    gone: (name: string) =>
      `${name} was deleted or renamed since you opened it. Nothing is saved yet.`,
    sides: 'Compare',
    side: { merge: 'Compare', theirs: 'Their changes', mine: 'Your changes' },
    explained: {
      merge:
        'Red is the file as it is now, green is yours. Take parts of theirs, or edit yours. “Save mine” writes yours.',
      theirs: 'Red is the file as you opened it, green is the file as it is now.',
      mine: 'Red is the file as you opened it, green is yours.',
    },
    /** The buttons of each difference, by the words that the editor has for them. */
    phrases: { Accept: 'Keep mine', Reject: 'Take theirs' },
    labels: {
      merge: { before: 'The file as it is now', after: 'Your text' },
      theirs: { before: 'The file as you opened it', after: 'The file as it is now' },
      mine: { before: 'The file as you opened it', after: 'Your text' },
    },
    takeTheirs: 'Discard mine',
    discard: 'Discard mine',
    save: 'Save mine',
  },
  log: {
    follow: 'Follow',
    edit: 'Edit',
    tooLarge:
      'This file is larger than 4 MiB, so only its end is shown. Download it to see all of it.',
    shown: (lines: number, size: string) => `The last ${many(lines, 'line', 'lines')} of ${size}`,
  },
} as const;

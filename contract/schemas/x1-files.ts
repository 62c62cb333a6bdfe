import { Type } from 'typebox';
import {
  choice,
  CLOSED,
  integer,
  integerOrNull,
  natural,
  object,
  openChoice,
  openChoiceOrNull,
  sent,
  sentText,
  textOrNull,
  timestamp,
} from './values.ts';

/** The most files of one request. */
const MAX_FILES = 100;
const MAX_PAGE = 1_000;
const MAX_PATH = 4_096;
/** The size of a file that is read or written at once, and below it that of its base64. */
export const MAX_CONTENT_BYTES = 4 * 1024 * 1024;
const MAX_CONTENT = Math.ceil(MAX_CONTENT_BYTES / 3) * 4;
/** Text may be written with escapes. */
export const MAX_CONTENT_BODY = 12 * 1024 * 1024;

const PATH =
  'Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them.';

const path = (description: string, example = 'plugins/map.jar') =>
  sentText({ maxLength: MAX_PATH, description: `${description} ${PATH}`, examples: [example] });
const shownPath = (example = 'plugins/map.jar') => Type.String({ examples: [example] });
const shownMode = Type.String({ description: 'Permissions, in octal.', examples: ['644'] });
const sentMode = Type.Unsafe<string>({
  type: 'string',
  pattern: '^0?[0-7]{3}$',
  maxLength: 4,
  description: 'Permissions in octal. Set-user-id and the like are refused.',
  examples: ['644', '0755'],
});
const TYPES = ['file', 'folder', 'link', 'other'] as const;
const type = openChoice(TYPES, { description: 'A `link` is shown and never followed.' });
const size = natural({ description: 'Bytes; 0 for a folder.', examples: [20_480] });

const FileEntry = object('FileEntry', 'A file or folder of a game server.', {
  name: Type.String({ examples: ['map.jar'] }),
  path: shownPath(),
  type,
  size,
  modified_at: timestamp(),
  mode: shownMode,
  denied: Type.Boolean({
    description: 'The egg of the server denies it: nobody may read, change or delete it.',
  }),
  content: openChoiceOrNull(['empty', 'text', 'image', 'archive', 'binary'], {
    description: 'What its first bytes look like, where `content=true` asked for it.',
  }),
});

export const FileListQuery = Type.Object(
  {
    path: Type.Optional(path('The folder.', 'plugins')),
    sort: Type.Optional(choice(['name', 'size', 'modified'], { default: 'name' })),
    order: Type.Optional(choice(['ascending', 'descending'], { default: 'ascending' })),
    content: Type.Optional(
      Type.Boolean({ default: false, description: 'Look into each file for what it holds.' }),
    ),
    page: Type.Optional(integer({ minimum: 1, maximum: 100_000, default: 1 })),
    per_page: Type.Optional(integer({ minimum: 1, maximum: MAX_PAGE, default: 200 })),
  },
  CLOSED,
);

export const FileList = object('FileList', 'A page of a folder.', {
  data: Type.Array(FileEntry, { description: 'Folders first, then in the order asked for.' }),
  meta: object('FileListMeta', {
    current_page: natural({ examples: [1] }),
    per_page: natural({ examples: [200] }),
    total: natural({ description: 'Entries of the folder.', examples: [1] }),
    complete: Type.Boolean({ description: 'False: the folder has more entries than are listed.' }),
  }),
});

export const FileQuery = Type.Object({ path: path('The file.') }, CLOSED);

export const ContentQuery = Type.Object(
  {
    path: path('The file.'),
    raw: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Answer the bytes of the file, of any size, instead of JSON. A `Range` does so too.',
      }),
    ),
  },
  CLOSED,
);

export const UploadQuery = Type.Object(
  {
    path: path('The new file; the folders on the way are made when it is whole.'),
    offset: natural({
      description: 'Where the body begins in the file: as many bytes as were received, or 0.',
      examples: [0],
    }),
    size: natural({ description: 'The size of the whole file.', examples: [20_480] }),
  },
  CLOSED,
);

export const FileUpload = object('FileUpload', {
  data: object('FileUploadData', 'How far the upload of a file is.', {
    path: shownPath(),
    received: natural({ description: 'Bytes that the node has.', examples: [20_480] }),
    size: integerOrNull({
      description: 'The size of the whole file; null where nothing was received.',
      examples: [20_480],
    }),
    done: Type.Boolean({ description: 'The file is whole, and has its name.' }),
  }),
});

export const DownloadQuery = Type.Object(
  {
    path: Type.Array(path('A file or folder.', 'world'), {
      minItems: 1,
      maxItems: MAX_FILES,
      description: 'Files and folders: the parameter may stand up to 100 times.',
      examples: [['world']],
    }),
    format: choice(['zip', 'tar.gz', 'tar.zst']),
  },
  CLOSED,
);

export const FileLinkRequest = Type.Object(
  {
    paths: Type.Array(path('A file or folder.', 'world'), { minItems: 1, maxItems: MAX_FILES }),
    format: Type.Optional(choice(['zip', 'tar.gz', 'tar.zst'])),
  },
  CLOSED,
);

export const UploadLinkRequest = Type.Object(UploadQuery.properties, CLOSED);

export const FileLink = object('FileLink', 'A link that is good once.', {
  data: object('FileLinkData', {
    url: Type.String({ description: 'On the node itself; a secret.' }),
    expires_at: timestamp({ description: 'The time until which it can be used.' }),
  }),
});

const ENCODINGS = ['utf-8', 'base64'] as const;

export const FileContent = object('FileContent', {
  data: object('FileContentData', 'A file as it was read.', {
    path: shownPath('server.properties'),
    encoding: openChoice(ENCODINGS, { description: '`base64` for what is no text in UTF-8.' }),
    content: Type.String({ examples: ['motd=Hello\n'] }),
    size,
    modified_at: timestamp(),
    mode: shownMode,
  }),
});

export const FileWrite = sent('FileWrite', 'The whole content of a file.', {
  content: Type.Unsafe<string>({
    type: 'string',
    maxLength: MAX_CONTENT,
    'x-document': true,
    description: 'At most 4 MiB in bytes.',
    examples: ['motd=Hello\n'],
  }),
  encoding: Type.Optional(choice(ENCODINGS, { default: 'utf-8' })),
  mode: Type.Optional(sentMode),
});

export const FileWritten = object('FileWritten', {
  data: object('FileWrittenData', {
    path: shownPath('server.properties'),
    size,
    created: Type.Boolean({ description: 'There was no file.' }),
  }),
});

export const FolderRequest = sent('FolderRequest', {
  path: path('The new folder; those on the way are made too.', 'plugins/maps'),
});

export const MoveRequest = sent('MoveRequest', {
  moves: Type.Array(
    sent('FileMove', { from: path('What is moved.'), to: path('Its new path.', 'old/map.jar') }),
    { minItems: 1, maxItems: MAX_FILES },
  ),
  replace: Type.Optional(
    Type.Boolean({ default: false, description: 'What is at a new path goes to the bin.' }),
  ),
});

export const CopyRequest = sent('CopyRequest', {
  from: path('A file or folder.', 'world'),
  to: path('A path where nothing is.', 'backups/world'),
});

export const ArchiveRequest = sent('ArchiveRequest', {
  paths: Type.Array(path('A file or folder.', 'world'), { minItems: 1, maxItems: MAX_FILES }),
  to: path('The new archive, where nothing is.', 'backups/world.tar.zst'),
  format: choice(['zip', 'tar', 'tar.gz', 'tar.zst']),
});

export const UnpackRequest = sent('UnpackRequest', {
  path: path(
    'An archive: zip, tar, 7z, rar, or a tar or single file compressed by gzip, zstd, xz or bzip2.',
    'plugins.zip',
  ),
  to: Type.Optional(path('The folder that its content goes to.', 'plugins')),
});

const MAX_URL = 2_048;

export const PullRequest = sent('PullRequest', {
  url: sentText({
    minLength: 1,
    maxLength: MAX_URL,
    description:
      'http or https, without user name and password. It must lead to a public address, also through each of at most five redirects, or to a network that the operator opened to the servers of the node.',
    examples: ['https://example.net/releases/map.jar'],
  }),
  path: path('The new file.'),
  replace: Type.Optional(
    Type.Boolean({ default: false, description: 'Replace a file that is at the path.' }),
  ),
});

export const DeleteFilesRequest = sent('DeleteFilesRequest', {
  paths: Type.Array(path('A file or folder.'), { minItems: 1, maxItems: MAX_FILES }),
  permanently: Type.Optional(
    Type.Boolean({ default: false, description: 'Not to the bin, but for good.' }),
  ),
});

export const ModeRequest = sent('ModeRequest', {
  files: Type.Array(sent('FileMode', { path: path('A file or folder.'), mode: sentMode }), {
    minItems: 1,
    maxItems: MAX_FILES,
  }),
});

export const FilesChanged = object('FilesChanged', 'What became of each path.', {
  data: object('FilesChangedData', {
    done: Type.Array(Type.String(), { description: 'Those that were done.' }),
    failed: Type.Array(
      object('FileFailure', {
        path: Type.String(),
        reason: Type.String({ description: 'A sentence.' }),
      }),
      { description: 'Those that were not. A request that names one path is refused instead.' },
    ),
  }),
});

export const FileSearchQuery = Type.Object(
  {
    path: Type.Optional(path('The folder to search.', 'plugins')),
    name: Type.Optional(
      sentText({
        minLength: 1,
        maxLength: 255,
        description: 'A part of the name, or a pattern with `*` and `?` for all of it.',
        examples: ['*.yml'],
      }),
    ),
    text: Type.Optional(
      sentText({
        minLength: 1,
        maxLength: 1_024,
        description: 'A part of a line of a text file of at most 4 MiB. Capitals do not matter.',
        examples: ['max-players'],
      }),
    ),
    limit: Type.Optional(integer({ minimum: 1, maximum: 500, default: 100 })),
  },
  CLOSED,
);

export const FilesFound = object('FilesFound', {
  data: Type.Array(
    object('FoundFile', {
      path: shownPath('server.properties'),
      type,
      size,
      line: integerOrNull({ description: 'The number of the line that has the text.' }),
      text: textOrNull({ description: 'That line, as far as it fits.' }),
    }),
  ),
  meta: object('FilesFoundMeta', {
    complete: Type.Boolean({ description: 'False: time or a limit ended the search.' }),
  }),
});

export const DiskUseQuery = Type.Object(
  { path: Type.Optional(path('The folder.', 'world')) },
  CLOSED,
);

const useFields = {
  bytes: natural({ description: 'On the disk: whole blocks, at least 4 KiB an entry.' }),
  entries: natural({ description: 'Files, folders and links.' }),
  complete: Type.Boolean({ description: 'False: there was no time to count all of it.' }),
};

export const FilesMeasured = object('FilesMeasured', {
  data: object('FilesMeasuredData', 'The disk use of a folder.', {
    ...useFields,
    children: Type.Array(object('FileUse', { name: Type.String(), type, ...useFields }), {
      description: 'What is in it, the largest first.',
    }),
  }),
});

export const DeletedFiles = object('DeletedFiles', {
  data: Type.Array(
    object('DeletedFile', {
      id: Type.String({ examples: ['mhzk3q1c-2-3f0a1b2c4d5e6f70'] }),
      path: shownPath('world/region'),
      type,
      size,
      deleted_at: timestamp(),
    }),
    { description: 'The newest first.' },
  ),
  meta: object('DeletedFilesMeta', {
    days: natural({ description: 'After so many days one is removed for good.', examples: [7] }),
  }),
});

const ids = Type.Array(
  sentText({ minLength: 1, maxLength: 64, examples: ['mhzk3q1c-2-3f0a1b2c4d5e6f70'] }),
  { minItems: 1, maxItems: MAX_FILES },
);
export const RestoreRequest = sent('RestoreRequest', { ids });
export const EmptyBinRequest = sent('EmptyBinRequest', { ids: Type.Optional(ids) });

const FileJob = object('FileJob', 'A long operation on the files of a server.', {
  id: Type.String({ format: 'uuid', examples: ['0d3c0a7e-6f0e-4a35-9d5b-1f7e1f0c9b52'] }),
  kind: openChoice(['copy', 'archive', 'unpack', 'pull']),
  path: shownPath('world'),
  state: openChoice(['running', 'done', 'failed', 'cancelled']),
  started_at: timestamp(),
  bytes: natural({ description: 'Bytes so far.' }),
  total_bytes: integerOrNull({ description: 'Bytes in the end; null: not known.' }),
  entries: natural({ description: 'Files so far.' }),
  notes: Type.Array(Type.String(), {
    description: 'Sentences: why it failed, and what was left out.',
  }),
});

export const FileJobAnswer = object('FileJobAnswer', { data: FileJob });
export const FileJobs = object('FileJobs', {
  data: Type.Array(FileJob, { description: 'The newest first, those that ended lately too.' }),
});

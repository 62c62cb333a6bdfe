import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import { MAX_PATH_LENGTH, parsePath } from '@portcullis/core/game-servers/files/path.ts';
import { REFUSAL_CODES } from './files.ts';
import {
  array,
  boolean,
  integer,
  kinds,
  matching,
  natural,
  nullable,
  object,
  oneOf,
  parsedBy,
  prose,
  type Static,
  type StaticUnion,
  text,
} from './schema.ts';
import { address, instance, port, reason } from './values.ts';

/** Messages about people who connect to the SFTP server of a node. */

/** Sessions of one node. */
export const MAX_SFTP_SESSIONS = 1_000;

/** Lines of activity in one message. */
export const MAX_SFTP_LINES = 100;

const uuid = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a uuid in lower case');
const rights = array(oneOf(...FILE_RIGHTS), 16);
/** A key or password of a person: `key:17`, `password:3`. */
const credentialRef = matching(/^(?:key|password):\d{1,16}$/, 'a key or a password');
const person = natural;

/** The SFTP server of a node, as its heartbeats report it. */
export const sftpOfNode = object({
  port,
  /** The one address on which it listens; null: all of its host. */
  address: nullable(address),
  /** The key of the host, as `ssh-keygen -l` shows it. */
  fingerprint: matching(/^SHA256:[A-Za-z0-9+/]{43}$/, 'a fingerprint'),
});
export type SftpOfNode = Static<typeof sftpOfNode>;

const session = object({ person, server: uuid, credential: credentialRef });
export type SftpSessionRef = Static<typeof session>;

const path = parsedBy((value) => parsePath(value).ok, 'a path', MAX_PATH_LENGTH);

/** Operations of a person on files; many of one kind in one folder are one line. */
const line = object({
  session,
  source: address,
  action: oneOf('files.write', 'files.move', 'files.delete', 'files.folder', 'files.mode'),
  /** Null: it was done. */
  refused: nullable(oneOf(...REFUSAL_CODES)),
  /** Null: they are several, in `folder`. */
  path: nullable(path),
  /** The new path of what was moved. */
  to: nullable(path),
  /** The folder of several; empty: that of the server. */
  folder: nullable(path),
  times: integer(1, 1_000_000_000),
});
export type SftpLine = Static<typeof line>;

export const SFTP_REQUESTS = kinds({
  /** Asks whether a person may connect to the files of a server of this node. */
  'sftp.login': {
    email: text(254),
    /** Its uuid, or the first eight characters of it. */
    server: text(64),
    method: oneOf('key', 'password'),
    /** The password, or the public key in base64. */
    secret: text(8_192),
    /** False: the client asks whether the key would do, and has not signed yet. */
    proved: boolean,
    source: address,
  },
  /** Asks for the rights that open sessions have now. */
  'sftp.check': { sessions: array(session, MAX_SFTP_SESSIONS) },
  /** Reports what people did. A batch that is sent again under its name counts once. */
  'sftp.activity': { batch: instance, lines: array(line, MAX_SFTP_LINES) },
});
export type SftpRequest = StaticUnion<typeof SFTP_REQUESTS>;
export type SftpLogin = Static<(typeof SFTP_REQUESTS)['sftp.login']>;
export type SftpReport = Static<(typeof SFTP_REQUESTS)['sftp.activity']>;
export type SftpCheck = Static<(typeof SFTP_REQUESTS)['sftp.check']>;

export const SFTP_REPLIES = kinds({
  'sftp.admitted': { session, actor: prose(255), rights },
  /** The reason is for the node's log: the client learns nothing. */
  'sftp.denied': { reason },
  /** In the order of the sessions; null: it has ended. */
  'sftp.rights': { rights: array(nullable(rights), MAX_SFTP_SESSIONS) },
});
export type SftpAdmitted = Static<(typeof SFTP_REPLIES)['sftp.admitted']>;

export type SftpRights = Static<(typeof SFTP_REPLIES)['sftp.rights']>;

export const SFTP_NOTICES = kinds({
  /** Rights of people changed: nodes ask again for those of their sessions. */
  'node.access': {},
});

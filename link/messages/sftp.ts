import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import {
  array,
  boolean,
  kinds,
  matching,
  natural,
  nullable,
  object,
  oneOf,
  prose,
  type Static,
  type StaticUnion,
  text,
} from './schema.ts';
import { address, reason } from './values.ts';

/** Messages about people who connect to the SFTP server of a node. */

/** Sessions of one node. */
export const MAX_SFTP_SESSIONS = 1_000;

const uuid = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a uuid in lower case');
const rights = array(oneOf(...FILE_RIGHTS), 16);
/** A key or password of a person: `key:17`, `password:3`. */
const credentialRef = matching(/^(?:key|password):\d{1,16}$/, 'a key or a password');
const person = natural;

const session = object({ person, server: uuid, credential: credentialRef });
export type SftpSessionRef = Static<typeof session>;

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
});
export type SftpRequest = StaticUnion<typeof SFTP_REQUESTS>;
export type SftpLogin = Static<(typeof SFTP_REQUESTS)['sftp.login']>;
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

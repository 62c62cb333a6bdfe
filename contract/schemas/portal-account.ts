import { Type } from 'typebox';
import { ROLES } from '../endpoint.ts';
import {
  answer,
  arrayOf,
  choice,
  choiceOrNull,
  id,
  integer,
  natural,
  object,
  openChoice,
  openChoiceOrNull,
  sent,
  sentText,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const email = sentText({ minLength: 3, maxLength: 254, examples: ['ada@example.net'] });
const sentName = sentText({ minLength: 1, maxLength: 100, examples: ['Ada'] });
const password = sentText({ minLength: 1, maxLength: 256 });
const newPassword = sentText({
  minLength: 12,
  maxLength: 256,
  description: 'At least 12 characters.',
});
const code = sentText({
  minLength: 6,
  maxLength: 20,
  description: 'Six digits of the authenticator app, or a recovery code.',
});
const token = sentText({
  minLength: 43,
  maxLength: 43,
  description: 'The part of a link after #.',
});
const role = openChoice(ROLES, { description: 'Each role includes those before it.' });
const sentRole = choice(ROLES);

export const SignInRequest = sent('SignInRequest', { email, password, code: Type.Optional(code) });

export const SignedIn = answer('SignedIn', {
  signed_in: Type.Boolean({
    description:
      'False: the password was right, and `code` is needed too. Send the request again with it.',
  }),
});

/** Options and answers of WebAuthn are those of the browser's API, as @simplewebauthn/browser takes and gives them. */
export const PasskeyOptions = object(
  'PasskeyOptions',
  'For `optionsJSON` of the browser’s WebAuthn call.',
  { data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }) },
);
const credential = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description: 'What the browser’s WebAuthn call answered, as JSON.',
});
export const PasskeySignIn = sent('PasskeySignIn', { credential });
export const NewPasskey = sent('NewPasskey', { name: sentName, credential });

export const LinkToken = sent('LinkToken', { token });
export const Link = answer('PortalLink', {
  kind: openChoice(['operator', 'invitation', 'reset'], {
    description: 'What the link is for: the first operator, an invitation, a new password.',
  }),
  email: textOrNull({ description: 'Null: the person who accepts it enters an address.' }),
  has_account: Type.Boolean({
    description:
      'Accept it with what the account signs in with. False: choose a name and a password; if somebody made an account for the address before, it is given to you, and every other way into it ends.',
  }),
  organisation: textOrNull({ description: 'Name of the organisation.' }),
  role: openChoiceOrNull(ROLES),
  server: textOrNull({ description: 'Name of the one server that it is an invitation to.' }),
  rights: Type.Array(Type.String(), { description: 'Rights to that server.' }),
  expires_at: timestamp(),
});
export const LinkAcceptance = sent(
  'LinkAcceptance',
  'A new account needs a name and a new password; an account that is there what signing in asks for.',
  {
    token,
    email: Type.Optional(email),
    name: Type.Optional(sentName),
    password,
    code: Type.Optional(code),
  },
);
export const LinkAccepted = answer(
  'LinkAccepted',
  'The person is signed in: a session begins with the answer.',
  { email: Type.String() },
);

const Organisation = Type.Object({
  slug: Type.String(),
  name: Type.String(),
  role: openChoice(['guest', ...ROLES], {
    description: 'Each role includes those before it. `guest`: rights to single servers only.',
  }),
  owner: openChoice(['fleet', 'portal'], {
    description: '`fleet`: the fleet file owns it, and its name is changed there.',
  }),
});
export const WhoAmI = answer('WhoAmI', {
  id: id(),
  email: Type.String(),
  name: Type.String(),
  operator: Type.Boolean(),
  acting_for: textOrNull({ description: 'Slug that an operator acts for now.' }),
  organisations: Type.Array(Organisation, {
    description: 'By slug; that which an operator acts for is among them.',
  }),
});

const passkey = {
  id: id(),
  name: Type.String(),
  created_at: timestamp(),
  last_used_at: timestampOrNull(),
};
export const Account = answer('Account', {
  totp: Type.Boolean(),
  recovery_codes_left: natural(),
  passkeys: arrayOf(passkey),
});
export const Sessions = object('Sessions', {
  data: arrayOf({
    id: id(),
    current: Type.Boolean(),
    source: textOrNull(),
    user_agent: textOrNull(),
    created_at: timestamp(),
    last_seen_at: timestamp(),
  }),
});
export const PersonName = sent('PersonName', { name: sentName });
export const PasswordChange = sent('PasswordChange', { password, new_password: newPassword });
export const PasswordChanged = answer('PasswordChanged', {
  done: Type.Boolean(),
  passkeys: arrayOf(passkey, {
    description: 'They still sign in: delete those that are not yours.',
  }),
});
export const PasswordProof = sent('PasswordProof', { password });
export const TotpSetup = answer('TotpSetup', {
  secret: Type.String({ description: 'In base32, to type into the app.' }),
  uri: Type.String({ description: 'otpauth: URI, for a QR code.' }),
});
export const TotpCode = sent('TotpCode', { code });
export const RecoveryCodes = answer('RecoveryCodes', 'Shown this once; each works once.', {
  recovery_codes: Type.Array(Type.String()),
});
export const SftpAccess = answer('SftpAccess', {
  keys: arrayOf({
    id: id(),
    name: Type.String(),
    type: Type.String({ examples: ['ssh-ed25519'] }),
    fingerprint: Type.String({ description: 'As ssh-keygen -l shows it.' }),
    created_at: timestamp(),
    last_used_at: timestampOrNull(),
  }),
  passwords: arrayOf({
    id: id(),
    name: Type.String(),
    created_at: timestamp(),
    last_used_at: timestampOrNull(),
    expires_at: timestamp(),
  }),
});
export const NewSshKey = sent('NewSshKey', {
  name: sentName,
  public_key: sentText({
    minLength: 1,
    maxLength: 4096,
    description: 'The line of a .pub file: Ed25519, ECDSA, or RSA of 2048 bits and more.',
  }),
  password,
});
export const NewSftpPassword = sent('NewSftpPassword', {
  name: sentName,
  days: integer({ minimum: 1, maximum: 365, description: 'Days until it ends.' }),
  password,
});
export const SftpPassword = answer('SftpPassword', 'Shown this once.', {
  id: id(),
  password: Type.String(),
  expires_at: timestamp(),
});
export const Done = answer('Done', { done: Type.Boolean() });

export const Members = answer('Members', {
  members: arrayOf({
    id: id(),
    email: Type.String(),
    name: Type.String(),
    role,
    since: timestamp(),
    last_seen_at: timestampOrNull(),
  }),
  invitations: arrayOf({
    id: id(),
    email: Type.String(),
    role,
    created_by: Type.String(),
    expires_at: timestamp(),
  }),
});
export const MemberChange = sent('MemberChange', { role: sentRole });
export const Invitation = sent('Invitation', { email, role: sentRole });
export const OperatorInvitation = sent('OperatorInvitation', {
  email,
  organisation: Type.Union([sentText({ minLength: 1, maxLength: 63 }), Type.Null()], {
    description: 'Slug; null: an operator without an organisation.',
  }),
  role: choiceOrNull(ROLES, { description: 'In the organisation.' }),
});
export const NewLink = answer(
  'NewLink',
  'Shown this once. It works once; give it to the person unless it is mailed.',
  {
    url: Type.String(),
    expires_at: timestamp(),
    mailed_to: textOrNull({
      description:
        'Where it is mailed to; null: no mail server is configured, or it sent too much.',
    }),
  },
);
export const LINK_KINDS = ['operator', 'invitation', 'reset'] as const;
export const OpenLinks = object('OpenLinks', 'Unused links that have not expired.', {
  data: arrayOf({
    id: id(),
    kind: openChoice(LINK_KINDS, {
      description: 'Makes an operator, an account with a role, or a new password.',
    }),
    email: textOrNull({ description: 'Null if the person gives it when it accepts the link.' }),
    organisation: textOrNull({ description: 'Slug.' }),
    role: openChoiceOrNull(ROLES, { description: 'In the organisation.' }),
    created_by: Type.String(),
    expires_at: timestamp(),
  }),
});
export const OrganisationName = sent('OrganisationName', { name: sentName });

export const People = object('People', {
  data: arrayOf({
    id: id(),
    email: Type.String(),
    name: Type.String(),
    operator: Type.Boolean(),
    disabled: Type.Boolean(),
    totp: Type.Boolean(),
    proven: Type.Boolean({
      description:
        'Whether the address answered, or an operator gave its word: until then only links of the organisation that made the account are accepted for it.',
    }),
    passkeys: natural({ description: 'Their number.' }),
    last_seen_at: timestampOrNull(),
    organisations: arrayOf({ slug: Type.String(), role }),
  }),
});
export const PersonChange = sent('PersonChange', {
  operator: Type.Boolean(),
  disabled: Type.Boolean(),
});
export const Acting = sent('Acting', {
  organisation: sentText({ minLength: 1, maxLength: 63, description: 'Slug.' }),
});

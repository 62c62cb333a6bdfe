import { Type } from 'typebox';
import { ROLES } from '../endpoint.ts';
import {
  choice,
  choiceOrNull,
  CLOSED,
  id,
  natural,
  openChoice,
  openChoiceOrNull,
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

export const SignInRequest = Type.Object(
  { email, password, code: Type.Optional(code) },
  { ...CLOSED, title: 'SignInRequest' },
);

export const SignedIn = Type.Object(
  {
    data: Type.Object({
      signed_in: Type.Boolean({
        description:
          'False: the password was right, and `code` is needed too. Send the request again with it.',
      }),
    }),
  },
  { title: 'SignedIn' },
);

/** Options and answers of WebAuthn are those of the browser's API, as @simplewebauthn/browser takes and gives them. */
export const PasskeyOptions = Type.Object(
  { data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }) },
  { title: 'PasskeyOptions', description: 'For `optionsJSON` of the browser’s WebAuthn call.' },
);
const credential = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description: 'What the browser’s WebAuthn call answered, as JSON.',
});
export const PasskeySignIn = Type.Object({ credential }, { ...CLOSED, title: 'PasskeySignIn' });
export const NewPasskey = Type.Object(
  { name: sentName, credential },
  { ...CLOSED, title: 'NewPasskey' },
);

export const LinkToken = Type.Object({ token }, { ...CLOSED, title: 'LinkToken' });
export const Link = Type.Object(
  {
    data: Type.Object({
      kind: openChoice(['operator', 'invitation', 'reset'], {
        description: 'What the link is for: the first operator, an invitation, a new password.',
      }),
      email: textOrNull({ description: 'Null: whoever accepts it names it.' }),
      has_account: Type.Boolean({ description: 'Accept it with the password of the account.' }),
      organisation: textOrNull({ description: 'Name of the organisation.' }),
      role: openChoiceOrNull(ROLES),
      expires_at: timestamp(),
    }),
  },
  { title: 'PortalLink' },
);
export const LinkAcceptance = Type.Object(
  { token, email: Type.Optional(email), name: Type.Optional(sentName), password },
  {
    ...CLOSED,
    title: 'LinkAcceptance',
    description:
      'A new account needs a name and a new password; an account that is there its own password.',
  },
);
export const LinkAccepted = Type.Object(
  { data: Type.Object({ email: Type.String() }) },
  { title: 'LinkAccepted', description: 'Sign in with this email and the password now.' },
);

const Organisation = Type.Object({
  slug: Type.String(),
  name: Type.String(),
  role,
  owner: openChoice(['fleet', 'portal'], {
    description: '`fleet`: the fleet file owns it, and its name is changed there.',
  }),
});
export const WhoAmI = Type.Object(
  {
    data: Type.Object({
      id: id(),
      email: Type.String(),
      name: Type.String(),
      operator: Type.Boolean(),
      acting_for: textOrNull({ description: 'Slug that an operator acts for now.' }),
      organisations: Type.Array(Organisation, {
        description: 'By slug; that which an operator acts for is among them.',
      }),
    }),
  },
  { title: 'WhoAmI' },
);

export const Account = Type.Object(
  {
    data: Type.Object({
      totp: Type.Boolean(),
      recovery_codes_left: natural(),
      passkeys: Type.Array(
        Type.Object({
          id: id(),
          name: Type.String(),
          created_at: timestamp(),
          last_used_at: timestampOrNull(),
        }),
      ),
    }),
  },
  { title: 'Account' },
);
export const Sessions = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        id: id(),
        current: Type.Boolean(),
        source: textOrNull(),
        user_agent: textOrNull(),
        created_at: timestamp(),
        last_seen_at: timestamp(),
      }),
    ),
  },
  { title: 'Sessions' },
);
export const PersonName = Type.Object({ name: sentName }, { ...CLOSED, title: 'PersonName' });
export const PasswordChange = Type.Object(
  { password, new_password: newPassword },
  { ...CLOSED, title: 'PasswordChange' },
);
export const PasswordProof = Type.Object({ password }, { ...CLOSED, title: 'PasswordProof' });
export const TotpSetup = Type.Object(
  {
    data: Type.Object({
      secret: Type.String({ description: 'In base32, to type into the app.' }),
      uri: Type.String({ description: 'otpauth: URI, for a QR code.' }),
    }),
  },
  { title: 'TotpSetup' },
);
export const TotpCode = Type.Object({ code }, { ...CLOSED, title: 'TotpCode' });
export const RecoveryCodes = Type.Object(
  { data: Type.Object({ recovery_codes: Type.Array(Type.String()) }) },
  { title: 'RecoveryCodes', description: 'Shown this once; each works once.' },
);
export const Done = Type.Object({ data: Type.Object({ done: Type.Boolean() }) }, { title: 'Done' });

export const Members = Type.Object(
  {
    data: Type.Object({
      members: Type.Array(
        Type.Object({
          id: id(),
          email: Type.String(),
          name: Type.String(),
          role,
          since: timestamp(),
          last_seen_at: timestampOrNull(),
        }),
      ),
      invitations: Type.Array(
        Type.Object({
          id: id(),
          email: Type.String(),
          role,
          created_by: Type.String(),
          expires_at: timestamp(),
        }),
      ),
    }),
  },
  { title: 'Members' },
);
export const MemberChange = Type.Object({ role: sentRole }, { ...CLOSED, title: 'MemberChange' });
export const Invitation = Type.Object(
  { email, role: sentRole },
  { ...CLOSED, title: 'Invitation' },
);
export const OperatorInvitation = Type.Object(
  {
    email,
    organisation: Type.Union([sentText({ minLength: 1, maxLength: 63 }), Type.Null()], {
      description: 'Slug; null: an operator without an organisation.',
    }),
    role: choiceOrNull(ROLES, { description: 'In the organisation.' }),
  },
  { ...CLOSED, title: 'OperatorInvitation' },
);
export const NewLink = Type.Object(
  {
    data: Type.Object({
      url: Type.String(),
      expires_at: timestamp(),
      mailed_to: textOrNull({
        description:
          'Where it is mailed to; null: no mail server is configured, or it sent too much.',
      }),
    }),
  },
  {
    title: 'NewLink',
    description: 'Shown this once. It works once; give it to the person unless it is mailed.',
  },
);
export const LINK_KINDS = ['operator', 'invitation', 'reset'] as const;
export const OpenLinks = Type.Object(
  {
    data: Type.Array(
      Type.Object({
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
    ),
  },
  { title: 'OpenLinks', description: 'Unused links that have not expired.' },
);
export const OrganisationName = Type.Object(
  { name: sentName },
  { ...CLOSED, title: 'OrganisationName' },
);

export const People = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        id: id(),
        email: Type.String(),
        name: Type.String(),
        operator: Type.Boolean(),
        disabled: Type.Boolean(),
        totp: Type.Boolean(),
        last_seen_at: timestampOrNull(),
        organisations: Type.Array(Type.Object({ slug: Type.String(), role })),
      }),
    ),
  },
  { title: 'People' },
);
export const PersonChange = Type.Object(
  { operator: Type.Boolean(), disabled: Type.Boolean() },
  { ...CLOSED, title: 'PersonChange' },
);
export const Acting = Type.Object(
  { organisation: sentText({ minLength: 1, maxLength: 63, description: 'Slug.' }) },
  { ...CLOSED, title: 'Acting' },
);

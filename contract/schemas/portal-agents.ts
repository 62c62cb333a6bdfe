import { Type } from 'typebox';
import { answer, choice, sent, sentText, textOrNull } from './values.ts';

const kind = choice(['edge', 'node', 'collector'], { description: 'What the host is to be.' });

export const JoinRequest = sent('JoinRequest', {
  kind,
  token: sentText({ minLength: 1, maxLength: 200, description: 'As `tokens create` printed it.' }),
  public_key: Type.Optional(
    sentText({
      minLength: 43,
      maxLength: 43,
      description:
        'The public key of the host, made for joining: Ed25519 in base64url. A token that asks for approval needs it.',
    }),
  ),
  signature: Type.Optional(
    sentText({
      minLength: 86,
      maxLength: 86,
      description: 'The signature by that key of `portcullis join KIND TOKEN`, in base64url.',
    }),
  ),
});
export const Joined = answer('Joined', {
  name: Type.String({ description: 'Its name in the fleet.' }),
  credential: textOrNull({
    description:
      'The contents of its credential file, shown this once. Null: an operator has to approve the key of the host; ask again.',
  }),
});

export const AgentStateRequest = sent('AgentStateRequest', {
  kind,
  name: sentText({ minLength: 1, maxLength: 63 }),
  secret: sentText({ minLength: 1, maxLength: 256, description: 'Of its credential.' }),
});
export const AgentState = answer('AgentState', {
  connected: Type.Boolean({ description: 'It has reported to control since it joined.' }),
  live: Type.Boolean({
    description: 'An edge: it enforces, and counts for live. Others: connected.',
  }),
  reason: textOrNull({ description: 'Why an edge is not live, in words.' }),
});

import { Type } from 'typebox';
import { answer, integerOrNull, textOrNull } from './values.ts';

export const SftpPlace = answer('SftpPlace', 'How people reach the files of a server by SFTP.', {
  host: Type.String({ description: 'The name or address of its node.' }),
  port: integerOrNull({ description: 'Null: its node serves no SFTP, or did not report it yet.' }),
  fingerprint: textOrNull({
    description:
      'The key of the host, as clients show it at the first connection: accept it only if it is this one.',
  }),
  server: Type.String({
    description: 'The end of the user: the email of the person, a dot, and this.',
    examples: ['6f1c2f1e'],
  }),
  user: textOrNull({ description: 'The user of the caller; null for a key, which is no person.' }),
  url: textOrNull({
    description: 'What a program such as FileZilla opens. Null without a user or a port.',
    examples: ['sftp://ada%40example.net.6f1c2f1e@198.51.100.10:2022'],
  }),
});

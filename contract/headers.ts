import { type TSchema, Type } from 'typebox';
import { choice, integer, natural } from './schemas/values.ts';

interface HeaderEntry {
  readonly description: string;
  readonly schema: TSchema;
}

/** The response headers for callers. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': {
    description:
      'The id of this request in our logs. A caller’s own X-Request-Id is kept when it is 8 to 64 letters, digits, dots, underscores or dashes.',
    schema: Type.String({ examples: ['0d3c0a7e-6f0e-4a35-9d5b-1f7e1f0c9b52'] }),
  },
  RateLimit: {
    description:
      'What is left of the quota (r) of the limit that is nearest: of the key, the person, the source or the organisation; and seconds until it is whole again (t).',
    schema: Type.String({ examples: ['"key";r=98;t=1'] }),
  },
  'RateLimit-Policy': {
    description:
      'Its quota (q), which may come at once, and the window of seconds (w) in which it comes back.',
    schema: Type.String({ examples: ['"key";q=100;w=10'] }),
  },
  'Retry-After': {
    description: 'Seconds after which it is worth trying again.',
    schema: integer({ minimum: 0, examples: [1] }),
  },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    schema: Type.String({ examples: ['Bearer'] }),
  },
  ETag: {
    description: 'Names this representation, for If-None-Match and If-Match.',
    schema: Type.String({ examples: ['"Yk0p2mT0xQ3q0b7mV8cA1wZ5nQ4"'] }),
  },
  'Portcullis-Generation': {
    description: 'On a write, its generation; on a read, the live one that was read.',
    schema: natural({ examples: [1207] }),
  },
  'Portcullis-Accepted-Generation': {
    description: 'The newest accepted generation. Equal to Portcullis-Generation: all is live.',
    schema: natural({ examples: [1207] }),
  },
  'Portcullis-Enforcement': {
    description:
      'full: every edge that serves the address enforces. partial: one is out of service or refused the address. none: nothing enforces.',
    schema: choice(['full', 'partial', 'none']),
  },
  'Idempotency-Replayed': {
    description: 'Present when the answer is that of an earlier request with the same key.',
    schema: choice(['true']),
  },
  'Accept-Ranges': {
    description: 'The unit in which a part can be asked for.',
    schema: choice(['bytes']),
  },
  'Content-Range': {
    description: 'The part that is answered, and the size of the whole.',
    schema: Type.String({ examples: ['bytes 0-1023/20480'] }),
  },
  'Content-Disposition': {
    description: 'The name under which a browser keeps what it gets.',
    schema: Type.String({ examples: ['attachment; filename="world.zip"'] }),
  },
} as const satisfies Readonly<Record<string, HeaderEntry>>;

export type HeaderName = keyof typeof RESPONSE_HEADERS;

/**
 * The request headers of operations, besides Authorization and Content-Type. They have no examples, because the
 * reference page would put an example Idempotency-Key into every command, and a copied key repeats a request.
 */
export const REQUEST_HEADERS = {
  'Idempotency-Key': {
    description:
      'Makes a repeat safe: within 24 hours the same key with the same body gets the answer of the first request, and nothing is done twice. Chosen by the caller, 1 to 255 visible ASCII characters.',
    schema: Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\x21-\\x7E]+$',
    }),
  },
  'If-None-Match': {
    description: 'ETags that the caller has; 304 without a body when one of them still holds.',
    schema: Type.String(),
  },
  Range: {
    description:
      'One part of the bytes, such as `bytes=0-1023`, `bytes=1024-` or the last ones, `bytes=-1024`. Several parts, and other units, are answered with the whole.',
    schema: Type.String(),
  },
  'Last-Event-ID': {
    description: 'The id of the last event that was received; the stream goes on after it.',
    schema: Type.String(),
  },
  'If-Match': {
    description: 'The ETag of what the change was made on; 412 when it was written to since.',
    schema: Type.String(),
  },
} as const satisfies Readonly<Record<string, HeaderEntry>>;

export type RequestHeaderName = keyof typeof REQUEST_HEADERS;

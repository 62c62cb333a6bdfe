import { Type } from 'typebox';

/** No C0 or C1 control characters, no DEL: what is shown to people and sent to consoles stays one line of text. */
export const NO_CONTROL_CHARACTERS = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$';

/** An IP address in its canonical form, RFC 5952. */
export const AddressText = Type.String({
  description: 'IP address in canonical form (RFC 5952)',
  examples: ['203.0.113.10'],
});

/** `80`, `7000-7010`, `80,443`. */
export const PortExpression = Type.String({
  minLength: 1,
  maxLength: 65_536,
  pattern: NO_CONTROL_CHARACTERS,
  description:
    'A port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once.',
  examples: ['27015', '7000-7010', '80,443'],
});

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601 with an explicit UTC offset',
  examples: ['2026-11-21T02:00:00+00:00'],
});

export const Integer = Type.Integer();
export const Count = Type.Integer({ minimum: 0 });

/** An object that has exactly these fields. */
export function exact<const P extends Parameters<typeof Type.Object>[0]>(
  properties: P,
  description?: string,
) {
  return Type.Object(properties, {
    additionalProperties: false,
    ...(description === undefined ? {} : { description }),
  });
}

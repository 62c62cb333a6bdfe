import { Checkbox, Select, TextInput } from '@mantine/core';
import { ProblemError } from '@portcullis/client/index.ts';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import type { Organisation } from '../queries.ts';

const text = messages.operator.holdings;

interface Props {
  readonly organisation: Organisation;
  onClose(): void;
}

/** Gives a prefix under an ASN, or an address of a service, from now on. */
export function HoldingForm({ organisation, onClose }: Props) {
  const { slug, asns, services } = organisation;
  const choices = [
    ...asns.map((asn) => ({ value: `asn ${asn}`, label: `AS${asn}` })),
    ...services.map(({ id, name }) => ({ value: `service ${id}`, label: `#${id} ${name}` })),
  ];
  return (
    <WriteForm
      label={text.give}
      layout="panel"
      initial={{ prefix: '', by: null as string | null, allowsLosses: false }}
      submit={text.give}
      refusal={({ prefix, by }) => prefix.trim() === '' || by === null}
      write={({ prefix, by, allowsLosses }) => {
        const [kind, number] = (by ?? '').split(' ');
        const giver = kind === 'asn' ? { asn: Number(number) } : { service_id: Number(number) };
        const body = { prefix: prefix.trim(), ...giver, allow_losses: allowsLosses };
        return personClient.createHolding({ slug, body });
      }}
      onDone={onClose}
      onCancel={onClose}
    >
      {({ getInputProps }, error) => (
        <>
          <div className="form-row">
            <TextInput
              className="field"
              autoFocus
              label={text.prefix}
              placeholder="203.0.113.0/24"
              spellCheck={false}
              required
              {...getInputProps('prefix')}
            />
            <Select
              className="field"
              label={text.by}
              description={choices.length === 0 ? text.nothingToGiveBy : null}
              placeholder={messages.noOrganisation.choose}
              data={choices}
              searchable
              required
              {...getInputProps('by')}
            />
          </div>
          {isLosing(error) && (
            <Checkbox
              size="sm"
              label={text.allowLosses}
              {...getInputProps('allowsLosses', { type: 'checkbox' })}
            />
          )}
        </>
      )}
    </WriteForm>
  );
}

/** Whether rules or filters in force would end by a write, which the operator may allow. */
export function isLosing(error: Error | null): boolean {
  return error instanceof ProblemError && error.code === 'live_objects';
}

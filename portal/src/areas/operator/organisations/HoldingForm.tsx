import { Checkbox, Select, TextInput } from '@mantine/core';
import { ProblemError } from '@portcullis/client/index.ts';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import type { Organisation } from '../queries.ts';

const text = operatorMessages.holdings;

interface Props {
  readonly organisation: Organisation;
  onClose(): void;
}

/** Gives a prefix, under an ASN or none, or what a service holds, from now on. */
export function HoldingForm({ organisation, onClose }: Props) {
  const { slug, asns, services } = organisation;
  const choices = [
    { value: 'none', label: text.noAsn },
    ...asns.map(({ asn }) => ({ value: `asn ${asn}`, label: `AS${asn}` })),
    ...services.map(({ id, name }) => ({ value: `service ${id}`, label: `#${id} ${name}` })),
  ];
  return (
    <WriteForm
      label={text.give}
      layout="panel"
      initial={{ prefix: '', by: 'none', allowsLosses: false }}
      submit={text.give}
      refusal={({ prefix }) => prefix.trim() === ''}
      write={({ prefix, by, allowsLosses }) => {
        const [kind, number] = by.split(' ');
        const body = {
          prefix: prefix.trim(),
          asn: kind === 'asn' ? Number(number) : null,
          service: kind === 'service' ? Number(number) : null,
        };
        const query = { allow_losses: allowsLosses };
        return personClient.createHolding({ organisation: slug, body, query });
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
              data={choices}
              searchable
              allowDeselect={false}
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

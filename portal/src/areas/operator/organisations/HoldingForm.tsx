import { Button, Checkbox, Select, TextInput } from '@mantine/core';
import { ProblemError } from '@portcullis/client/index.ts';
import { type SubmitEvent, useState } from 'react';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import type { Organisation } from '../queries.ts';
import { useOrganisationWrite } from './use-organisation-write.ts';

const text = messages.operator.holdings;

interface Props {
  readonly organisation: Organisation;
  onClose(): void;
}

/** Gives a prefix under an ASN, or an address of a service, from now on. */
export function HoldingForm({ organisation, onClose }: Props) {
  const { slug, asns, services } = organisation;
  const [prefix, setPrefix] = useState('');
  const [by, setBy] = useState<string | null>(null);
  const [allowsLosses, setAllowsLosses] = useState(false);
  const create = useOrganisationWrite(() => {
    const [kind, number] = (by ?? '').split(' ');
    const giver = kind === 'asn' ? { asn: Number(number) } : { service_id: Number(number) };
    const body = { prefix, ...giver, allow_losses: allowsLosses };
    return personClient.createHolding({ slug, body });
  }, onClose);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    create.mutate(undefined);
  };
  const choices = [
    ...asns.map((asn) => ({ value: `asn ${asn}`, label: `AS${asn}` })),
    ...services.map(({ id, name }) => ({ value: `service ${id}`, label: `#${id} ${name}` })),
  ];
  return (
    <form className="panel stack" aria-label={text.give} onSubmit={submit}>
      <div className="form-row">
        <TextInput
          className="field"
          autoFocus
          label={text.prefix}
          placeholder="203.0.113.0/24"
          value={prefix}
          onChange={(event) => setPrefix(event.currentTarget.value.trim())}
          spellCheck={false}
          required
        />
        <Select
          className="field"
          label={text.by}
          description={choices.length === 0 ? text.nothingToGiveBy : null}
          placeholder={messages.noOrganisation.choose}
          data={choices}
          value={by}
          onChange={setBy}
          searchable
          required
        />
      </div>
      <ProblemNotice error={create.error} />
      {isLosing(create.error) && (
        <Checkbox
          size="sm"
          label={text.allowLosses}
          checked={allowsLosses}
          onChange={(event) => setAllowsLosses(event.currentTarget.checked)}
        />
      )}
      <div className="row">
        <Button type="submit" loading={create.isPending} disabled={prefix === '' || by === null}>
          {text.give}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
      </div>
    </form>
  );
}

/** Whether rules or filters in force would end by a write, which the operator may allow. */
export function isLosing(error: Error | null): boolean {
  return error instanceof ProblemError && error.code === 'live_objects';
}

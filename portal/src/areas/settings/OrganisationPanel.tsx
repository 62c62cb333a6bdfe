import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../../components/Notice.tsx';
import { ProblemNotice } from '../../components/ProblemNotice.tsx';
import { messages } from '../../messages/index.ts';
import { useRefusal } from '../../session/rights.ts';
import { usePeopleClient, useSession } from '../../session/session.ts';

const text = messages.organisation;

/** The name of the organisation, which its owner changes unless the fleet file owns it. */
export default function OrganisationPanel() {
  const client = usePeopleClient();
  const { person, organisation, refreshPerson } = useSession();
  const current = person?.organisations.find(({ slug }) => slug === organisation);
  const [name, setName] = useState(current?.name ?? '');
  const isOfFleet = current?.owner === 'fleet';
  const role = useRefusal('owner');
  const refusal = isOfFleet ? text.ofFleet : role;
  const rename = useMutation({
    mutationFn: async () => {
      await client.renameOrganisation({ body: { name: name.trim() } });
      await refreshPerson();
    },
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <section className="card card-pad narrow">
      <h2>{text.title}</h2>
      <p>{text.lead}</p>
      <form className="stack" onSubmit={submit}>
        {refusal !== null && <Notice kind="info">{refusal}</Notice>}
        <TextInput
          label={text.name}
          value={name}
          maxLength={100}
          readOnly={refusal !== null}
          onChange={(event) => setName(event.currentTarget.value)}
          required
        />
        <TextInput
          label={text.slug}
          description={text.slugText}
          value={organisation ?? ''}
          className="mono"
          readOnly
        />
        <ProblemNotice error={rename.error} />
        {rename.isSuccess && <Notice kind="ok">{text.renamed}</Notice>}
        {refusal === null && (
          <div className="row">
            <Button
              type="submit"
              loading={rename.isPending}
              disabled={name.trim() === '' || name.trim() === current?.name}
            >
              {text.rename}
            </Button>
          </div>
        )}
      </form>
    </section>
  );
}

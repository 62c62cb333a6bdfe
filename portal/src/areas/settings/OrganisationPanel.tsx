import { TextInput } from '@mantine/core';
import { Notice } from '../../components/Notice.tsx';
import { WriteForm } from '../../components/forms/WriteForm.tsx';
import { messages } from '../../messages/index.ts';
import { useRefusal } from '../../session/rights.ts';
import { usePeopleClient, useSession } from '../../session/session.ts';

const text = messages.organisation;

/** The name of the organisation, which its owner changes unless the fleet file owns it. */
export default function OrganisationPanel() {
  const client = usePeopleClient();
  const { person, organisation, refreshPerson } = useSession();
  const current = person?.organisations.find(({ slug }) => slug === organisation);
  const role = useRefusal('owner');
  const locked = current?.owner === 'fleet' ? text.ofFleet : role;
  return (
    <section className="card card-pad narrow">
      <h2>{text.title}</h2>
      <p>{text.lead}</p>
      <WriteForm
        initial={{ name: current?.name ?? '' }}
        refusal={({ name }) => name.trim() === '' || name.trim() === current?.name}
        write={async ({ name }) => {
          await client.renameOrganisation({ body: { name: name.trim() } });
          await refreshPerson();
        }}
        submit={locked === null ? text.rename : null}
        saved={text.renamed}
      >
        {(form) => (
          <>
            {locked !== null && <Notice kind="info">{locked}</Notice>}
            <TextInput
              label={text.name}
              maxLength={100}
              readOnly={locked !== null}
              required
              {...form.getInputProps('name')}
            />
            <TextInput
              label={text.slug}
              description={text.slugText}
              value={organisation ?? ''}
              classNames={{ input: 'mono' }}
              readOnly
            />
          </>
        )}
      </WriteForm>
    </section>
  );
}

import { Button, Select } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Building2 } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { EmptyState } from '../components/EmptyState.tsx';
import { Notice } from '../components/Notice.tsx';
import { messages } from '../messages/index.ts';
import { personClient, useSession } from '../session/session.ts';

const text = messages.noOrganisation;

/** Instead of the page of an organisation, for an operator without one: it may act for one, which the audit trail records. */
export default function ActForm() {
  const { actFor } = useSession();
  const [organisation, setOrganisation] = useState<string | null>(null);
  const known = useQuery({
    queryKey: ['operator', 'organisations'],
    queryFn: async ({ signal }) => (await personClient.listOrganisations({}, { signal })).data,
  });
  const choices = (known.data ?? []).map(({ slug, name }) => ({
    value: slug,
    label: `${name} (${slug})`,
  }));
  // Most installations begin with one.
  const chosen = organisation ?? (choices.length === 1 ? (choices[0]?.value ?? null) : null);
  const act = useMutation({ mutationFn: () => actFor(chosen) });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    act.mutate();
  };
  const error = act.error ?? known.error;
  return (
    <div className="card">
      <EmptyState icon={Building2} title={text.operatorTitle} text={text.operatorText}>
        <form className="stack" onSubmit={submit}>
          {error !== null && <Notice kind="bad">{error.message}</Notice>}
          <Select
            label={text.organisation}
            placeholder={text.choose}
            data={choices}
            value={chosen}
            onChange={setOrganisation}
            searchable
            nothingFoundMessage={text.none}
            required
          />
          <Button type="submit" loading={act.isPending} disabled={chosen === null}>
            {text.act}
          </Button>
        </form>
      </EmptyState>
    </div>
  );
}

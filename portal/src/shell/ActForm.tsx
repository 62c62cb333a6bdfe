import { Select } from '@mantine/core';
import { Building2 } from 'lucide-react';
import { useOrganisations } from '../areas/operator/queries.ts';
import { EmptyState } from '../components/EmptyState.tsx';
import { ProblemNotice } from '../components/forms/ProblemNotice.tsx';
import { WriteForm } from '../components/forms/WriteForm.tsx';
import { messages } from '../messages/index.ts';
import { lastOrganisation, useSession } from '../session/session.ts';

const text = messages.noOrganisation;

/** Instead of the page of an organisation, for an operator without one: it may act for one, which the audit trail records. */
export default function ActForm() {
  const { actFor } = useSession();
  const known = useOrganisations();
  // A form that appears before its choices would be replaced under the pointer.
  if (known.data === undefined && known.error === null) return messages.loading;
  const choices = (known.data ?? []).map(({ slug, name }) => ({
    value: slug,
    label: `${name} (${slug})`,
  }));
  const last = choices.find(({ value }) => value === lastOrganisation());
  // Most installations begin with one.
  const first = last ?? (choices.length === 1 ? choices[0] : undefined);
  return (
    <div className="card">
      <EmptyState icon={Building2} title={text.operatorTitle} text={text.operatorText}>
        <ProblemNotice error={known.error} />
        <WriteForm
          initial={{ organisation: first?.value ?? null }}
          submit={text.act}
          refusal={({ organisation }) => organisation === null}
          write={({ organisation }) => actFor(organisation)}
        >
          {({ getInputProps }) => (
            <Select
              label={text.organisation}
              placeholder={text.choose}
              data={choices}
              searchable
              nothingFoundMessage={text.none}
              required
              {...getInputProps('organisation')}
            />
          )}
        </WriteForm>
      </EmptyState>
    </div>
  );
}

import { Button, NumberInput, SegmentedControl, Select, Textarea } from '@mantine/core';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../../../components/Notice.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import type { Organisation } from '../queries.ts';
import { bodyOf, draftOf, isSet, scopesOf, type ThresholdScope } from './thresholds-draft.ts';
import { useOrganisationWrite } from './use-organisation-write.ts';

const text = messages.operator.thresholds;
const MODES = ['inherit', 'off', 'observe', 'on'] as const;

/** When traffic is an attack: for the organisation, a service, or a prefix or address. */
export function ThresholdsCard({ organisation }: { readonly organisation: Organisation }) {
  const scopes = scopesOf(organisation);
  const [chosen, setChosen] = useState('organisation');
  const scope = scopes.find(({ key }) => key === chosen) ?? scopes[0];
  if (scope === undefined) return null;
  return (
    <section className="card card-pad" aria-label={text.title}>
      <h2>{text.title}</h2>
      <p>{text.lead}</p>
      <div className="stack">
        <Select
          label={
            <>
              {text.scope} <OwnerPill owner={scope.owner} />
            </>
          }
          aria-label={text.scope}
          data={scopes.map((each) => ({
            value: each.key,
            label: text.scopeName(each.name, isSet(each)),
          }))}
          value={scope.key}
          onChange={(key) => key !== null && setChosen(key)}
          searchable
        />
        <ThresholdsForm key={scope.key} slug={organisation.slug} scope={scope} />
      </div>
    </section>
  );
}

interface FormProps {
  readonly slug: string;
  readonly scope: ThresholdScope;
}

function ThresholdsForm({ slug, scope }: FormProps) {
  const [draft, setDraft] = useState(() => draftOf(scope));
  const isReadOnly = scope.owner === 'fleet';
  const save = useOrganisationWrite(() =>
    personClient.saveThresholds({ slug, body: bodyOf(scope, draft) }),
  );
  const change = (part: Partial<typeof draft>): void => {
    save.reset();
    setDraft({ ...draft, ...part });
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.mutate(undefined);
  };
  const fields = [
    ['pps', text.pps],
    ['mbps', text.mbps],
    ['holdSeconds', text.hold],
  ] as const;
  return (
    <form className="stack" onSubmit={submit}>
      <div className="limits">
        {fields.map(([field, label]) => (
          <NumberInput
            key={field}
            label={label}
            placeholder={text.inherited}
            min={1}
            max={2_147_483_647}
            allowDecimal={false}
            thousandSeparator=","
            readOnly={isReadOnly}
            hideControls
            value={draft[field]}
            onChange={(value) => change({ [field]: value === '' ? '' : Number(value) })}
          />
        ))}
      </div>
      <div>
        <div className="label">{text.mitigation}</div>
        <SegmentedControl
          aria-label={text.mitigation}
          data={MODES.map((value) => ({ value, label: text.modes[value] }))}
          value={draft.mitigation}
          readOnly={isReadOnly}
          onChange={(mitigation) => change({ mitigation })}
        />
      </div>
      <Textarea
        label={text.safelist}
        description={text.safelistText}
        rows={2}
        readOnly={isReadOnly}
        value={draft.safelist}
        onChange={(event) => change({ safelist: event.currentTarget.value })}
        spellCheck={false}
      />
      <ProblemNotice error={save.error} />
      {save.isSuccess && <Notice kind="ok">{messages.operator.organisations.saved}</Notice>}
      {isReadOnly ? (
        <p className="dim flat">{text.ofFleet}</p>
      ) : (
        <div className="row">
          <Button type="submit" loading={save.isPending}>
            {text.save}
          </Button>
        </div>
      )}
    </form>
  );
}

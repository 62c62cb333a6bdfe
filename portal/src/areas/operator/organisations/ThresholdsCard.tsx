import { NumberInput, SegmentedControl, Select, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Card } from '../../../components/Card.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import type { Organisation } from '../queries.ts';
import {
  bodyOf,
  draftOf,
  inheritedOf,
  isSet,
  scopesOf,
  type ThresholdScope,
} from './thresholds-draft.ts';

const text = operatorMessages.thresholds;
const MODES = ['inherit', 'off', 'observe', 'on'] as const;
const FIELDS = [
  ['pps', 'pps', text.pps],
  ['mbps', 'mbps', text.mbps],
  ['holdSeconds', 'hold_seconds', text.hold],
] as const;

/** When traffic is an attack: for the organisation, a service, or a prefix or address. */
export function ThresholdsCard({ organisation }: { readonly organisation: Organisation }) {
  const scopes = scopesOf(organisation);
  const [chosen, setChosen] = useState('organisation');
  const scope = scopes.find(({ key }) => key === chosen) ?? scopes[0];
  if (scope === undefined) return null;
  return (
    <Card title={text.title} lead={text.lead}>
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
        <ThresholdsForm key={scope.key} slug={organisation.slug} scope={scope} all={scopes} />
      </div>
    </Card>
  );
}

interface FormProps {
  readonly slug: string;
  readonly scope: ThresholdScope;
  readonly all: readonly ThresholdScope[];
}

function ThresholdsForm({ slug, scope, all }: FormProps) {
  const isReadOnly = scope.owner === 'fleet';
  return (
    <>
      <WriteForm
        initial={draftOf(scope)}
        submit={isReadOnly ? null : text.save}
        saved={operatorMessages.organisations.saved}
        pointers={{ '/hold_seconds': 'holdSeconds' }}
        write={(draft) => personClient.saveThresholds({ slug, body: bodyOf(scope, draft) })}
      >
        {({ getInputProps }) => (
          <>
            <div className="limits">
              {FIELDS.map(([field, sent, label]) => (
                <NumberInput
                  key={field}
                  label={label}
                  placeholder={text.inherited(inheritedOf(scope, sent, all))}
                  min={1}
                  max={2_147_483_647}
                  allowDecimal={false}
                  thousandSeparator=","
                  readOnly={isReadOnly}
                  hideControls
                  {...getInputProps(field)}
                />
              ))}
            </div>
            <div>
              <div className="label">{text.mitigation}</div>
              <SegmentedControl
                aria-label={text.mitigation}
                data={MODES.map((value) => ({ value, label: text.modes[value] }))}
                readOnly={isReadOnly}
                {...getInputProps('mitigation')}
              />
            </div>
            <Textarea
              label={text.safelist}
              description={text.safelistText}
              rows={2}
              readOnly={isReadOnly}
              spellCheck={false}
              {...getInputProps('safelist')}
            />
          </>
        )}
      </WriteForm>
      {isReadOnly && <p className="dim flat">{text.ofFleet}</p>}
    </>
  );
}

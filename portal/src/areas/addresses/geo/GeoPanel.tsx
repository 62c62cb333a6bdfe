import { Globe, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../../components/Confirm.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import type { GeoRule } from '@portcullis/client/index.ts';
import { messages } from '../../../messages/index.ts';
import { describeGeo, geoDraftOf, newGeoDraft, targetOn } from './geo-draft.ts';
import { GeoEditor } from './GeoEditor.tsx';
import { useDeleteGeoRule, useGeoRules } from './queries.ts';
import { WorldMap } from './WorldMap.tsx';

const text = messages.geo;

/** The geo rules that apply to an address, and the form that makes one. */
export default function GeoPanel({ ip }: { readonly ip: string }) {
  const rules = useGeoRules();
  const [edited, setEdited] = useState<GeoRule | 'new' | null>(null);
  const [deleted, setDeleted] = useState<GeoRule | null>(null);
  return (
    <>
      <div className="tools card-pad">
        <span className="dim tools-title">{text.lead}</span>
        <div className="row-end">
          <RoleButton
            needs="admin"
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => setEdited('new')}
          >
            {text.add}
          </RoleButton>
        </div>
      </div>
      {edited !== null && (
        <div className="panel">
          <GeoEditor
            key={edited === 'new' ? 'new' : edited.id}
            id={edited === 'new' ? null : edited.id}
            initial={edited === 'new' ? newGeoDraft(ip) : geoDraftOf(edited)}
            onClose={() => setEdited(null)}
          />
        </div>
      )}
      <Loaded query={rules}>
        {(all) => {
          const here = all.filter(({ targets }) => targetOn(ip, targets) !== null);
          if (here.length === 0) {
            return edited !== null ? null : (
              <EmptyState icon={Globe} title={text.empty.title} text={text.empty.text} />
            );
          }
          return (
            <ul className="geo-rules">
              {here.map((rule) => (
                <Rule
                  key={rule.id}
                  ip={ip}
                  rule={rule}
                  onEdit={() => setEdited(rule)}
                  onDelete={() => setDeleted(rule)}
                />
              ))}
            </ul>
          );
        }}
      </Loaded>
      {deleted !== null && <DeleteRule rule={deleted} onClose={() => setDeleted(null)} />}
    </>
  );
}

interface RuleProps {
  readonly ip: string;
  readonly rule: GeoRule;
  onEdit(): void;
  onDelete(): void;
}

function Rule({ ip, rule, onEdit, onDelete }: RuleProps) {
  const { action, countries, targets, owner } = rule;
  const on = targetOn(ip, targets);
  const what = describeGeo(rule);
  return (
    <li>
      <WorldMap marked={new Set(countries)} action={action} />
      <div className="tools-title">
        <div className="row">
          <Pill tone={action === 'deny' ? 'bad' : 'ok'} plain>
            {text.shown[action]}
          </Pill>
          <span className="strong">{what}</span>
        </div>
        <span className="dim">
          {on === ip || on === null ? text.here : text.fromPrefix(on)}
          {targets.length > 1 && ` ${text.alsoOn(targets.length - 1)}`}
          {owner === 'fleet' && `. ${text.fleet}`}
        </span>
      </div>
      {owner !== 'fleet' && (
        <div className="row-end">
          <RoleIcon needs="admin" label={text.edit(what)} onClick={onEdit}>
            <Pencil size={15} />
          </RoleIcon>
          <RoleIcon needs="admin" label={text.delete(what)} onClick={onDelete}>
            <Trash2 size={15} />
          </RoleIcon>
        </div>
      )}
    </li>
  );
}

function DeleteRule({ rule, onClose }: { readonly rule: GeoRule; onClose(): void }) {
  const remove = useDeleteGeoRule(rule.id);
  return (
    <Confirm title={text.deleteTitle} confirm={text.deleteConfirm} write={remove} onClose={onClose}>
      {text.deleteText(rule.targets.join(', '))}
    </Confirm>
  );
}

import { Button, Loader } from '@mantine/core';
import type { GroupInput, GroupPreview } from '@portcullis/client/index.ts';
import { Diff } from '../../components/Diff.tsx';
import { Notice } from '../../components/Notice.tsx';
import { Pill, type Tone } from '../../components/Pill.tsx';
import { ProblemNotice } from '../../components/forms/ProblemNotice.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { groupEditorMessages } from '../../messages/group-editor.ts';
import { usePreview } from './queries.ts';

const text = groupEditorMessages.preview;

type Preview = GroupPreview['data'];
type Target = Preview['targets'][number];

interface Props {
  /** Null: a new group. */
  readonly group: number | null;
  readonly draft: GroupInput;
  readonly isSame: boolean;
  /** A form with a rule or a filter is open. */
  readonly isTyping: boolean;
  readonly isValid: boolean;
  readonly save: { readonly error: Error | null; readonly isPending: boolean };
  onSave(): void;
  onDiscard(): void;
}

/** The effect of saving, tried by the service while it is typed, and the button that does it. */
export function PreviewPanel(props: Props) {
  const { group, draft, isSame, isTyping, isValid, save, onSave, onDiscard } = props;
  const preview = usePreview(group, isSame || !isValid ? null : draft);
  const isTried = preview.isCurrent && preview.data !== undefined;
  const conflicts = preview.data?.conflicts ?? [];
  const refusal = (): string | null => {
    if (isTyping) return text.typing;
    if (isSame) return text.unchanged;
    if (draft.name.trim() === '') return text.unnamed;
    if (preview.error !== null) return preview.error.message;
    if (!isValid || !isTried) return text.waiting;
    return conflicts.length > 0 ? text.blocked : null;
  };
  return (
    <section className="card card-pad editor-side stack" aria-label={text.title}>
      <div>
        <h2 className="row">
          {text.title}
          {preview.isFetching && <Loader size={14} aria-label={text.refreshing} />}
        </h2>
        <p>{text.lead}</p>
      </div>
      {preview.error !== null ? (
        <ProblemNotice error={preview.error} />
      ) : isSame ? (
        <span className="dim">{text.same}</span>
      ) : draft.name.trim() === '' ? (
        <span className="dim">{text.unnamed}</span>
      ) : (
        preview.data !== undefined && <Outcome preview={preview.data} />
      )}
      <ProblemNotice error={save.error} />
      <div className="row actions">
        <RoleButton
          needs="admin"
          isForPeople
          refusal={refusal()}
          loading={save.isPending}
          onClick={onSave}
        >
          {group === null ? groupEditorMessages.group.create : groupEditorMessages.group.save}
        </RoleButton>
        {!isSame && (
          <Button variant="subtle" color="gray" onClick={onDiscard}>
            {groupEditorMessages.group.discard}
          </Button>
        )}
      </div>
    </section>
  );
}

const TONES: Readonly<Record<Target['change'], Tone>> = {
  assigned: 'ok',
  unassigned: 'bad',
  changed: 'info',
  unchanged: 'neutral',
};

function Outcome({ preview: { targets, conflicts } }: { readonly preview: Preview }) {
  return (
    <div className="stack" role="status">
      {conflicts.length > 0 && (
        <Notice kind="bad">
          <p>{text.conflicts(conflicts.length)}</p>
          <ul className="conflicts">
            {conflicts.map(({ target, detail }) => (
              <li key={`${target} ${detail}`}>
                <span className="mono">{target}</span>: {detail}.
              </li>
            ))}
          </ul>
          <p>{text.conflictHint}</p>
        </Notice>
      )}
      {targets.length === 0 && <span className="dim">{text.nowhere}</span>}
      <ul className="changes">
        {targets.map((each) => (
          <li key={each.target}>
            <div className="row">
              <span className="mono">{each.target}</span>
              <span className="row-end">
                <Pill tone={TONES[each.change]} plain>
                  {text.change[each.change]}
                </Pill>
              </span>
            </div>
            {each.target.includes('/') && each.configured_addresses > 0 && (
              <div className="dim">{text.configured(each.configured_addresses)}</div>
            )}
            <Diff
              added={[...each.rules_added, ...each.filters_added]}
              removed={[...each.rules_removed, ...each.filters_removed]}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

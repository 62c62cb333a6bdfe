import { Textarea } from '@mantine/core';
import { Notice } from '../../../components/Notice.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';
import { parsePastedRules } from './paste-rules.ts';
import type { RuleTarget } from './RuleForm.tsx';

const text = messages.paste;
const MAX_SHOWN = 5;

interface Props {
  readonly target: RuleTarget;
  onClose(): void;
}

/** Many rules at once, a line each; nothing is sent while a line is wrong. */
export function PasteForm({ target, onClose }: Props) {
  const { ip, write } = target;
  const parse = (pasted: string) => {
    const lines = parsePastedRules(pasted, ip);
    return {
      wrong: lines.filter(({ rule }) => rule === null),
      rules: lines.flatMap(({ rule }) => rule ?? []),
    };
  };
  return (
    <WriteForm
      label={text.title}
      layout="panel"
      initial={{ pasted: '' }}
      refusal={({ pasted }) => {
        const { wrong, rules } = parse(pasted);
        return wrong.length > 0 || rules.length === 0;
      }}
      write={({ pasted }) => write(parse(pasted).rules)}
      isLocal={ip === null}
      say={(message) => message}
      onDone={onClose}
      onCancel={onClose}
      submit={({ pasted }) => text.submit(parse(pasted).rules.length)}
    >
      {(form) => {
        const { wrong } = parse(form.values.pasted);
        return (
          <>
            <Textarea
              label={text.label}
              description={text.hint}
              placeholder={text.example}
              autosize
              minRows={5}
              maxRows={16}
              spellCheck={false}
              classNames={{ input: 'mono' }}
              autoFocus
              {...form.getInputProps('pasted')}
            />
            {wrong.length > 0 && (
              <Notice kind="warn">
                {wrong.slice(0, MAX_SHOWN).map(({ line, reason }) => (
                  <p key={line}>{text.wrong(line, reason ?? '')}</p>
                ))}
                {wrong.length > MAX_SHOWN && <p>{text.more(wrong.length - MAX_SHOWN)}</p>}
              </Notice>
            )}
          </>
        );
      }}
    </WriteForm>
  );
}

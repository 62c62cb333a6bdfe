import type { ResponseInfo } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { LossesBox } from './LossesBox.tsx';

const text = operatorMessages.fleet;

export interface HostFormProps {
  readonly name: string;
  onClose(): void;
}

/** How a change is sent: of what was read, and whether something may be lost. */
export interface ChangeTerms {
  readonly name: string;
  readonly query: { readonly allow_losses: boolean };
  readonly headers: { readonly ifMatch?: string };
}

interface Props<Declared, Draft> extends HostFormProps {
  /** The kind, for the key of the query. */
  readonly kind: string;
  read(signal: AbortSignal): Promise<{ readonly data: Declared; readonly response: ResponseInfo }>;
  draftOf(declared: Declared): Draft;
  /** Whether a field that is needed is empty. */
  lacks(draft: Draft): boolean;
  change(draft: Draft, terms: ChangeTerms): Promise<unknown>;
  children(form: Fields<Draft & Losses>): ReactNode;
}

interface Losses {
  readonly allowsLosses: boolean;
}

/** Changes what a host is declared to be: of what was read, and not of what another has changed since. */
export function DeclaredForm<Declared, Draft extends object>(props: Props<Declared, Draft>) {
  const { kind, name, onClose } = props;
  const declared = useQuery({
    queryKey: ['operator', kind, name],
    queryFn: ({ signal }) => props.read(signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return (
    <Loaded query={declared}>
      {({ data, response: { etag } }) => (
        <WriteForm<Draft & Losses, unknown>
          label={text.changeOf(name)}
          layout="panel"
          initial={{ ...props.draftOf(data), allowsLosses: false }}
          submit={text.change}
          refusal={(draft) => props.lacks(draft)}
          write={(draft) =>
            props.change(draft, {
              name,
              query: { allow_losses: draft.allowsLosses },
              headers: etag === null ? {} : { ifMatch: etag },
            })
          }
          onDone={onClose}
          onCancel={onClose}
        >
          {(form, error) => (
            <>
              {props.children(form)}
              <LossesBox form={form} error={error} />
            </>
          )}
        </WriteForm>
      )}
    </Loaded>
  );
}

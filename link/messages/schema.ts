export * from '@portcullis/core/schema.ts';

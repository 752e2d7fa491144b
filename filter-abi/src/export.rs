//! What the module exports.

/// Exports the callbacks of a type that is [`Callbacks`](crate::Callbacks).
///
/// The names are exported once a module, so this stands once in a `cdylib`.
#[macro_export]
macro_rules! callbacks {
    ($callbacks:ty) => {
        const _: () = {
            use $crate::{Action, Callbacks as _};

            unsafe extern "C" {
                fn __wasm_call_ctors();
            }

            // A reference to it keeps the linker from calling it in every exported function.
            #[unsafe(no_mangle)]
            extern "C" fn _initialize() {
                // SAFETY: the proxy calls this once, before everything else.
                unsafe { __wasm_call_ctors() };
                <$callbacks>::on_load();
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_abi_version_0_2_1() {}

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_memory_allocate(size: usize) -> *mut u8 {
                $crate::call::allocate(size)
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_context_create(context: u32, root: u32) {
                <$callbacks>::on_context_create(context, root);
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_vm_start(root: u32, _size: usize) -> bool {
                <$callbacks>::on_vm_start(root)
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_configure(root: u32, size: usize) -> bool {
                <$callbacks>::on_configure(root, size)
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_tick(root: u32) {
                <$callbacks>::on_tick(root);
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_request_headers(context: u32, _headers: usize, _end: bool) -> Action {
                <$callbacks>::on_request_headers(context)
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_response_headers(context: u32, _headers: usize, _end: bool) -> Action {
                <$callbacks>::on_response_headers(context)
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_delete(context: u32) {
                <$callbacks>::on_delete(context);
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_grpc_receive_initial_metadata(_root: u32, stream: u32, headers: u32) {
                <$callbacks>::on_grpc_headers(stream, headers);
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_grpc_receive(_root: u32, stream: u32, size: usize) {
                <$callbacks>::on_grpc_message(stream, size);
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_grpc_close(_root: u32, stream: u32, _status: u32) {
                <$callbacks>::on_grpc_close(stream);
            }
        };
    };
}

;; A proxy-wasm module that makes calls and looks at nothing. Whatever a proxy hands over goes to the same
;; place.
(module
  (import "env" "proxy_get_property" (func $property (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_replace_header_map_value" (func $set (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_remove_header_map_value" (func $remove (param i32 i32 i32) (result i32)))
  (memory (export "memory") 3)
  (data (i32.const 0) "xds\00route_name")
  (data (i32.const 32) "request\00headers\00api-key")
  (data (i32.const 64) "x-user-id")
  (data (i32.const 96) "bench")
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 65536))
  (func (export "proxy_on_vm_start") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_configure") (param i32 i32) (result i32) (i32.const 1))
  ;; callbacks
)
